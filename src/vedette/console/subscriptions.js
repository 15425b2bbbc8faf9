// Subscriptions: how often each matches, what it costs, what became of its notifications.

import { every, get, pages } from "./api.js";
import { code } from "./tokens.js";
import { copy, empty, h, put, s, trouble } from "./dom.js";
import { count, counted, exactly, named, share, when, whyFailing } from "./words.js";
import { machineOf } from "./patterns.js";
import { planeOf } from "./covering.js";
import { linkTo } from "./share.js";

export const title = "Subscriptions";
const COLUMNS = [
  ["name", "Subscriber", (one) => named(one).toLowerCase()],
  ["when", "Says", (one) => one.when],
  ["rate", "Hit rate", (one) => -(one.recent?.rate ?? -1)],
  ["told", "Told", (one) => -(one.numbers?.due ?? 0)],
  ["cost", "Cost", (one) => -one.cost],
  ["last", "Last match", (one) => -(one.numbers?.last ? Date.parse(one.numbers.last) : 0)],
];

export const show = (page, [id], signal) => (id ? showOne(page, id, signal) : showAll(page, signal));

async function load(signal) {
  const [all, figures] = await Promise.all([
    pages("/v1/subscriptions", "subscriptions", signal), pages("/v1/subscriptions:figures", "figures", signal)]);
  const known = new Map(figures.map((one) => [one.subscription, one]));
  return all.map((one) => ({ ...one, recent: known.get(one.id)?.recent, numbers: known.get(one.id)?.notifications }));
}

async function showAll(page, signal) {
  let all = [];
  let order = "name";
  let asked = "";
  const body = h("tbody");
  const heads = COLUMNS.map(([name, says]) => {
    const button = h("button", { class: "plain", onclick: () => { order = name; draw(); } }, says);
    return h("th", { scope: "col", class: `c-${name}` }, button);
  });
  const summary = h("p", { class: "quiet" });
  const search = h("input", { type: "search", placeholder: "Search", "aria-label": "Search subscriptions", oninput: () => { asked = search.value.toLowerCase(); draw(); } });
  const table = h("table", { class: "list" }, h("caption", { class: "hidden" }, "Subscriptions"), h("thead", null, h("tr", null, heads)), body);
  const place = h("div", { class: "card flush" }, h("p", { class: "pad quiet" }, "Loading …"));
  put(page, h("div", { class: "head" }, h("h1", null, title), h("div", { class: "tools" }, search, h("a", { class: "button main", href: "#/playground" }, "New"))), summary, place);

  function draw() {
    COLUMNS.forEach(([name], index) => heads[index].setAttribute("aria-sort", name === order ? "ascending" : "none"));
    const by = COLUMNS.find(([name]) => name === order)[2];
    const some = all.filter((one) => !asked || `${named(one)} ${one.id} ${one.when} ${one.kind} ${one.stream}`.toLowerCase().includes(asked))
      .sort((one, other) => (by(one) < by(other) ? -1 : by(one) > by(other) ? 1 : 0));
    if (!all.length) {
      put(place, empty("Nobody has subscribed yet",
        h("p", null, "A subscription says which events somebody wants to hear of: a filter, or a pattern over several events."),
        h("a", { class: "button main", href: "#/playground" }, "Write one in the playground")));
      return;
    }
    put(body, some.map(rowOf));
    put(place, table, !some.length && h("p", { class: "pad quiet" }, `None says “${asked}”.`));
  }

  await every(3000, signal, async () => {
    try {
      const [found, mine] = await Promise.all([load(signal), get("/v1/tenant", signal)]);
      all = found;
      summary.textContent = `${counted(mine.subscriptions, "subscription")}, which cost ${count(mine.cost)} of the ${count(mine.most_cost)} that you may use. Hit rate: notifications per event of the last hour.`;
      draw();
    } catch (error) {
      if (signal.aborted) return;
      put(place, h("div", { class: "pad" }, trouble(error)));
    }
  });
}

function rowOf(one) {
  const cells = {
    name: [h("a", { href: `#/subscriptions/${encodeURIComponent(one.id)}` }, named(one)), " ", h("span", { class: `badge ${one.kind}` }, one.kind)],
    when: h("span", { class: "cut", title: one.when }, code(one.when)),
    rate: rateOf(one.recent),
    told: toldOf(one.numbers, one.failing),
    cost: count(one.cost),
    last: h("span", { title: exactly(one.numbers?.last) }, when(one.numbers?.last)),
  };
  return h("tr", null, COLUMNS.map(([name, says]) => h("td", { "data-label": says, class: `c-${name}` }, cells[name])));
}

function rateOf(recent) {
  if (!recent || recent.rate === null) return h("span", { class: "quiet", title: "No event came since it stands" }, "–");
  return h("span", { class: "rate", title: `${counted(recent.told, "notification")}, ${counted(recent.events, "event")}` }, h("span", { class: "share" }, share(recent.rate)), bars(recent.by_five_minutes));
}

function toldOf(numbers, failing) {
  if (!numbers) return "–";
  return [count(numbers.due), " ",
    failing && h("span", { class: "chip bad", title: `${whyFailing(failing.error)}; ${counted(failing.attempts, "request")} failed since ${exactly(failing.since)}` }, `webhook fails, ${count(numbers.pending)} wait`),
    numbers.dead > 0 && h("a", { class: "chip bad", href: "#/dead-letters" }, `${count(numbers.dead)} dead`),
    numbers.dropped > 0 && h("span", { class: "chip warn", title: "Its queue was full: the oldest were dropped" }, `${count(numbers.dropped)} dropped`)];
}

/** The last hour, a bar for every five minutes. */
function bars(values) {
  const most = Math.max(1, ...values);
  return s("svg", { class: "bars", viewBox: `0 0 ${values.length * 5} 16`, role: "img", "aria-label": `Notifications by five minutes: ${values.join(", ")}` },
    values.map((value, index) => s("rect", { x: index * 5, width: 4, rx: 1, y: 16 - Math.max(1.5, 15 * value / most), height: Math.max(1.5, 15 * value / most), class: value ? "told" : "none" })));
}

// ---------------------------------------------------------------- one of them

/** A webhook that fails: why, since when, what waits, and when it is tried again. */
function failingOf(failing, numbers, url) {
  const fact = (says, value, more) => h("div", null, h("dt", null, says), h("dd", { title: more }, value));
  return h("div", { class: "note bad" },
    h("strong", null, "The webhook does not take notifications"),
    h("p", null, `${url}: ${whyFailing(failing.error)}`),
    h("dl", { class: "facts" },
      fact("Failing since", failing.since ? when(failing.since) : "some time", exactly(failing.since)),
      fact("Requests that failed", count(failing.attempts)),
      fact("Last answer", failing.status ?? "none"),
      fact("Next try", failing.next_try ? when(failing.next_try) : "with the next notification", exactly(failing.next_try)),
      fact("Waiting", count(numbers.pending))));
}

async function showOne(page, id, signal) {
  const path = `/v1/subscriptions/${encodeURIComponent(id)}`;
  const one = await get(path, signal);
  const facts = h("dl", { class: "facts" });
  const failing = h("div", { role: "status" });
  const link = linkTo({ when: one.when, stream: one.stream, predict: one.predict });
  put(page,
    h("p", { class: "crumb" }, h("a", { href: "#/subscriptions" }, title)),
    h("div", { class: "head" }, h("h1", null, named(one)), h("span", { class: `badge ${one.kind}` }, one.kind),
      h("div", { class: "tools" }, h("a", { class: "button", href: link }, "Open in the playground"), h("button", { onclick: () => copy(one.id, "Id") }, "Copy id"))),
    h("div", { class: "card" }, code(one.when, "pre"), one.rule && h("details", null, h("summary", null, `The rule as it was written (${one.dialect})`), h("pre", null, one.rule))),
    h("div", { class: "card" }, h("h2", null, "Figures"), failing, facts));
  const fact = (says, value, more) => h("div", null, h("dt", null, says), h("dd", { title: more }, value));
  const pictures = h("div", { class: "stack" });
  page.append(pictures);
  if (one.kind === "pattern") pictures.append(machineOf(one, signal));
  if (one.kind !== "want") {
    get(`${path}/covering`, signal).then((found) => pictures.append(planeOf(one, found, signal, false)), () => {});
  }
  await every(2000, signal, async () => {
    try {
      const [now, { recent }] = await Promise.all([get(path, signal), get(`${path}/figures`, signal)]);
      const numbers = now.notifications;
      put(failing, now.failing && failingOf(now.failing, numbers, now.delivery.url));
      put(facts,
        fact("Hit rate, last hour", rateOf(recent)),
        fact("Told in all", count(numbers.due)), fact("Delivered", count(numbers.delivered)), fact("Waiting", count(numbers.pending)),
        fact("Dead", numbers.dead ? h("a", { href: "#/dead-letters" }, count(numbers.dead)) : "0"), fact("Dropped", count(numbers.dropped)),
        fact("Cost", count(now.cost)), fact("Stream", now.stream),
        fact("Told by", now.delivery.type === "webhook" ? now.delivery.url : "a queue"),
        fact("Last match", when(numbers.last), exactly(numbers.last)), fact("Since", when(now.created), exactly(now.created)), fact("Ends", when(now.expires), exactly(now.expires)),
        now.predict && fact("Forecasts", `${share(now.predict.threshold)} within ${counted(now.predict.within, "event")}`));
    } catch (error) {
      if (!signal.aborted) put(facts, trouble(error));
    }
  });
}
