// Live: events as they are matched, and what they told this tenant.

import { follow, get, pages, post, wait } from "./api.js";
import { empty, h, put, s, say, trouble } from "./dom.js";
import { clock, count, counted, cut, inBrief, named, ratio, share } from "./words.js";

export const title = "Live";
const KEPT = 150; // rows
const SECONDS = 60; // of the chart
const STREAM = "vedette.stream";

export async function show(page, _, signal) {
  const [{ streams }, subscriptions] = await Promise.all([
    get("/v1/streams", signal), pages("/v1/subscriptions", "subscriptions", signal)]);
  const names = new Map(subscriptions.map((one) => [one.id, one]));
  const known = streams.map((one) => one.name);
  const kept = sessionStorage.getItem(STREAM);
  const state = { stream: known.includes(kept) ? kept : known[0] ?? "default", paused: false, only: false, held: [] };
  const totals = { matched: 0, told: 0, skipped: 0 };
  const seconds = new Map(); // second -> [events, told]
  const rows = h("tbody");
  const waiting = empty("Waiting for events",
    h("p", null, "Whatever is published on this stream shows up here as it is matched. Publish something:"),
    h("pre", { class: "copy" }, `curl ${location.origin}/v1/streams/${state.stream}/events \\\n  -H "Authorization: Bearer $VEDETTE_KEY" \\\n  -H "Content-Type: application/json" \\\n  -d '{"kind": "order", "price": 99}'`),
    h("button", { onclick: sample }, "Publish this event"));
  const table = h("table", { class: "events", hidden: true },
    h("caption", { class: "hidden" }, "Events, the latest first"),
    h("thead", null, h("tr", null, h("th", { class: "narrow" }, "Matched at"), h("th", { class: "middle" }, "Id"), h("th", null, "Event"), h("th", { class: "wide" }, "Told"))), rows);
  const note = h("p", { class: "quiet", role: "status" });
  const rights = streams.find((one) => one.name === state.stream)?.rights ?? [];
  const own = !rights.includes("read") && h("p", { class: "quiet" }, "You see events that you published, and events that told you something. To see what others publish takes the right to read this stream.");
  const link = h("span", { class: "pulse" }, "connecting");
  const figures = {};
  const tile = (name, says) => h("div", { class: "tile" }, h("span", { class: "label" }, says), (figures[name] = h("strong", null, "0")));
  const chart = h("div", { class: "tile chart" });
  const pause = h("button", { "aria-pressed": "false", onclick: () => {
    state.paused = !state.paused;
    pause.setAttribute("aria-pressed", String(state.paused));
    pause.textContent = state.paused ? "Go on" : "Pause";
    if (!state.paused) { state.held.splice(0).forEach(add); }
  } }, "Pause");
  put(page,
    h("div", { class: "head" }, h("h1", null, title), link,
      h("div", { class: "tools" },
        h("label", null, "Stream ", h("select", { onchange: (event) => { sessionStorage.setItem(STREAM, event.target.value); window.dispatchEvent(new Event("hashchange")); } },
          known.map((name) => h("option", { value: name, selected: name === state.stream }, name)))),
        h("label", { class: "check" }, h("input", { type: "checkbox", onchange: (event) => { state.only = event.target.checked; table.classList.toggle("only", state.only); } }), "Only what told something"),
        pause)),
    h("div", { class: "tiles" }, tile("rate", "Events a second"), tile("matched", "Events seen here"), tile("told", "Told to you"), tile("hits", "Told per event"), chart),
    own, note, h("div", { class: "card flush" }, waiting, table));
  drawChart(chart, seconds);

  async function sample() {
    try {
      await post(`/v1/streams/${encodeURIComponent(state.stream)}/events`, { kind: "order", price: 99 }, signal);
      say("Published");
    } catch (error) { say(`${error.message} ${error.hint ?? ""}`); }
  }

  function add(one) {
    const text = one.event === null ? `… ${count(one.bytes)} bytes, too large to show here` : inBrief(one.event);
    const whole = h("pre", { class: "whole" }, one.event === null ? text : JSON.stringify(one.event, null, 2));
    const told = one.told.map((each) => {
      const standing = names.get(each.subscription);
      const says = each.kind === "prediction" ? ` ${share(each.probability)}` : "";
      return h("a", { class: `chip ${each.kind}`, href: `#/subscriptions/${encodeURIComponent(each.subscription)}`, title: standing?.when ?? each.subscription },
        (standing ? named(standing) : cut(each.subscription, 12)) + says);
    });
    const row = h("tr", { class: told.length ? "told" : "" },
      h("td", { "data-label": "Matched at", class: "narrow" }, clock(one.at)),
      h("td", { "data-label": "Id", class: "middle mono" }, h("span", { class: "cut", title: one.id }, one.id)),
      h("td", { "data-label": "Event", class: "mono" }, h("details", null, h("summary", null, h("span", { class: "cut" }, cut(text, 400))), whole)),
      h("td", { "data-label": "Told", class: "wide" }, told.length ? told : h("span", { class: "quiet", title: "None of your subscriptions" }, "–")));
    rows.prepend(row);
    while (rows.children.length > KEPT) rows.lastChild.remove();
    waiting.hidden = true;
    table.hidden = false;
  }

  function heard(kind, data) {
    if (kind !== "glimpse") return;
    const now = Date.now();
    totals.matched += data.matched; totals.told += data.told; totals.skipped += data.skipped;
    const second = Math.floor(now / 1000);
    const sums = seconds.get(second) ?? [0, 0];
    seconds.set(second, [sums[0] + data.matched, sums[1] + data.told]);
    for (const event of data.events) {
      if (state.paused) { state.held.push({ ...event, at: now }); state.held.splice(0, state.held.length - KEPT); } else add({ ...event, at: now });
    }
    for (const unknown of data.events.flatMap((one) => one.told).filter((one) => !names.has(one.subscription))) {
      names.set(unknown.subscription, { id: unknown.subscription, subscriber: null, when: "" });
      get(`/v1/subscriptions/${encodeURIComponent(unknown.subscription)}`, signal).then((one) => names.set(one.id, one), () => {});
    }
    figures.matched.textContent = count(totals.matched);
    figures.told.textContent = count(totals.told);
    figures.hits.textContent = ratio(totals.matched ? totals.told / totals.matched : null);
    note.textContent = totals.skipped
      ? `More happens than can be read: ${counted(totals.skipped, "event")} of ${count(totals.matched)} were matched and counted, but are not listed. Those that told you something come first.` : "";
  }

  const ticking = setInterval(() => {
    const second = Math.floor(Date.now() / 1000);
    for (const old of seconds.keys()) if (old < second - SECONDS) seconds.delete(old);
    let lately = 0;
    for (let back = 1; back <= 5; back += 1) lately += (seconds.get(second - back) ?? [0])[0];
    figures.rate.textContent = lately && lately < 50 ? (lately / 5).toFixed(1) : count(Math.round(lately / 5));
    drawChart(chart, seconds);
  }, 1000);
  signal.addEventListener("abort", () => clearInterval(ticking), { once: true });

  watch();
  async function watch() { // not awaited: the page is there before anything comes
    while (!signal.aborted) {
      try {
        await follow(`/v1/streams/${encodeURIComponent(state.stream)}/live?rate=20`, signal, (kind, data) => {
          if (kind === "watching") { link.textContent = "live"; link.classList.add("on"); }
          heard(kind, data);
        });
      } catch (error) {
        if (signal.aborted) return;
        if (error.status === 401) return;
        if (error.status) put(note, trouble(error));
      }
      if (signal.aborted) return;
      link.textContent = "connecting again"; link.classList.remove("on");
      await wait(2000, signal);
    }
  }
}

/** Events of the last minute, a bar a second, and above each what of it was told. */
function drawChart(place, seconds) {
  const now = Math.floor(Date.now() / 1000);
  const sums = Array.from({ length: SECONDS }, (_, index) => seconds.get(now - SECONDS + index) ?? [0, 0]);
  const most = Math.max(1, ...sums.map(([all]) => all));
  const bar = (value, index, kind) => value && s("rect", { class: kind, x: index * 5, width: 4, y: 48 - Math.max(2, 46 * Math.min(1, value / most)), height: Math.max(2, 46 * Math.min(1, value / most)), rx: 1 });
  put(place, h("span", { class: "label" }, `Last minute, at most ${count(most)} a second`),
    s("svg", { viewBox: `0 0 ${SECONDS * 5} 48`, preserveAspectRatio: "none", role: "img", "aria-label": `Events in the last minute, at most ${most} a second` },
      s("line", { class: "base", x1: 0, x2: SECONDS * 5, y1: 47.5, y2: 47.5 }),
      sums.map(([all], index) => bar(all, index, "all")), sums.map(([, told], index) => bar(told, index, "told"))));
}

