// Playground: write a filter or a pattern, see what it says, try it on events, share it, let it stand.

import { get, post, wait } from "./api.js";
import { code, units } from "./tokens.js";
import { copy, h, put, say, trouble } from "./dom.js";
import { editor } from "./editor.js";
import { drawMachine } from "./graph.js";
import { fromLink, linkTo } from "./share.js";
import { count, counted, share } from "./words.js";

export const title = "Playground";
const KEPT = "vedette.playground";
const EXAMPLES = {
  "A filter": {
    when: "kind = 'order' and price < 120 and city in ('Bronx', 'Queens')",
    events: '{"id": "e1", "kind": "order", "price": 99, "city": "Bronx"}\n{"id": "e2", "kind": "order", "price": 150, "city": "Queens"}\n{"id": "e3", "kind": "refund", "price": 20}',
  },
  "A pattern": {
    when: "fails:[login = 'failed']{3} ; enters:[login = 'ok'] by user within 10 min",
    events: ["00", "01", "02", "03"].map((minute, index) => JSON.stringify({ id: `e${index + 1}`, time: `2026-01-05T09:${minute}:00Z`, user: "ann", login: index < 3 ? "failed" : "ok" })).join("\n"),
  },
  "A pattern with forecasts": {
    when: "a:[status = 'hot'] ; b:[status = 'hot'] ; c:[status = 'fire'] by room within 1 h",
    events: '{"id": "e1", "time": "2026-01-05T09:00:00Z", "room": "7", "status": "hot"}\n{"id": "e2", "time": "2026-01-05T09:10:00Z", "room": "7", "status": "hot"}\n{"id": "e3", "time": "2026-01-05T09:20:00Z", "room": "7", "status": "fire"}',
    predict: { within: 5, threshold: 0.4 },
  },
  "A mistake": {
    when: "kind = 'order' and prize << 120",
    events: '{"id": "e1", "kind": "order", "price": 99}',
  },
};

export async function show(page, [shared], signal) {
  const { streams } = await get("/v1/streams", signal);
  const linked = shared ? fromLink(shared) : null;
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
  const first = linked ?? kept ?? EXAMPLES["A filter"];
  const names = streams.map((one) => one.name);
  const state = { predict: first.predict ?? null, tried: null };
  const stream = h("select", { id: "stream", onchange: changed }, names.map((name) => h("option", { value: name, selected: name === first.stream }, name)));
  const when = editor({ value: first.when, label: "Filter or pattern", id: "when", placeholder: "price < 120 and kind = 'order'", changed });
  const events = h("textarea", { id: "events", class: "mono", spellcheck: "false", rows: 7, oninput: changed, placeholder: '{"id": "e1", "price": 99}', value: first.events ?? "" });
  const within = h("input", { type: "number", min: 1, value: state.predict?.within ?? 10, "aria-label": "within so many events", oninput: changed });
  const threshold = h("input", { type: "number", min: 0, max: 1, step: 0.05, value: state.predict?.threshold ?? 0.5, "aria-label": "with this probability at least", oninput: changed });
  const forecasts = h("input", { type: "checkbox", checked: state.predict !== null, onchange: changed });
  const asks = h("fieldset", { class: "inline" }, h("label", { class: "check" }, forecasts, "Forecast it"), h("span", { class: "asks" }, " within ", within, " events, from ", threshold, " on"));
  const verdict = h("div", { role: "status", "aria-live": "polite" });
  const trials = h("div");
  const parse = h("div");
  const hour = h("div", { class: "row" });
  const stands = h("div");
  const examples = h("select", { "aria-label": "Examples", onchange: () => {
    const one = EXAMPLES[examples.value];
    if (!one) return;
    when.text = one.when; events.value = one.events;
    forecasts.checked = Boolean(one.predict);
    if (one.predict) { within.value = one.predict.within; threshold.value = one.predict.threshold; }
    examples.value = "";
    changed();
  } }, h("option", { value: "" }, "Examples …"), Object.keys(EXAMPLES).map((name) => h("option", { value: name }, name)));
  put(page,
    h("div", { class: "head" }, h("h1", null, title), h("div", { class: "tools" }, examples,
      h("button", { id: "share", onclick: () => { const link = linkTo(written()); history.replaceState(null, "", link); copy(location.href, "Link"); } }, "Share a link"))),
    shared && !linked && h("div", { class: "note bad", role: "alert" }, h("strong", null, "This link is broken"), h("p", null, "A part of it is missing, perhaps because it was cut when it was sent. Ask for it again.")),
    h("div", { class: "two" },
      h("div", { class: "stack" },
        h("section", { class: "card" }, h("div", { class: "between" }, h("label", { for: "when", class: "h2" }, "Filter or pattern"), h("label", { class: "small" }, "Stream ", stream)), when.node, asks, verdict),
        h("section", { class: "card" }, h("label", { for: "events", class: "h2" }, "Events to try it on"), h("p", { class: "hint" }, "One JSON object a line, or a list. They stay here: trying publishes nothing."), events),
        h("section", { class: "card" }, h("h2", null, "Use it"), h("p", { class: "hint" }, "Try it on what really came, then let it stand."), hour, stands)),
      h("div", { class: "stack" },
        h("section", { class: "card" }, h("h2", null, "On your events"), trials),
        h("section", { class: "card" }, h("h2", null, "What it says"), parse))));

  function predict() {
    return forecasts.checked && !asks.disabled ? { within: Number(within.value) || 1, threshold: Number(threshold.value) } : null;
  }

  function written() {
    return { when: when.text, events: events.value, stream: stream.value, ...(predict() ? { predict: predict() } : {}) };
  }

  function samples() {
    const text = events.value.trim();
    if (!text) return [];
    if (text.startsWith("[")) return JSON.parse(text);
    return text.split("\n").flatMap((line, index) => {
      if (!line.trim()) return [];
      try { return [JSON.parse(line)]; } catch (error) { throw new Error(`Line ${index + 1} is no JSON: ${error.message}`); }
    });
  }

  let turn = 0;
  function changed() {
    sessionStorage.setItem(KEPT, JSON.stringify(written()));
    const mine = ++turn;
    wait(250, signal).then(() => { if (mine === turn && !signal.aborted) look(mine); });
  }

  async function look(mine) {
    const body = { when: when.text, stream: stream.value };
    try {
      let found = await post("/v1/filters:parse", body, signal);
      if (mine !== turn) return;
      const pattern = found.kind === "pattern" || when.text.trimStart().match(/^\(?\s*(\w+:)?\[/) !== null;
      asks.disabled = !pattern;
      asks.classList.toggle("off", !pattern);
      if (predict() && found.valid) found = await post("/v1/filters:parse", { ...body, predict: predict() }, signal);
      if (mine !== turn) return;
      drawVerdict(found);
      drawParse(found);
      drawHour(found);
      await tryIt(found, mine);
    } catch (error) {
      if (!signal.aborted) put(verdict, trouble(error));
    }
  }

  function drawVerdict(found) {
    when.mark(found.findings.filter((one) => one.start !== null)
      .map((one) => [units(when.text, one.start), Math.max(units(when.text, one.end), units(when.text, one.start) + 1), one.severity]));
    const notes = found.findings.map((one) => h("div", { class: `note ${one.severity === "error" ? "bad" : "warn"}` },
      h("strong", null, one.line ? `Line ${one.line}, column ${one.column}` : "It cannot stand"), h("p", null, one.message),
      one.line && h("pre", { class: "caret" }, one.shown.split("\n").filter((line) => line.startsWith("  ")).map((line) => line.slice(2)).join("\n")), one.hint && h("p", { class: "hint" }, one.hint)));
    const reads = Object.entries(found.columns ?? {}).map(([name, type]) => [h("code", null, name), ` (${type})`]);
    put(verdict, notes, found.valid && h("p", { class: "fine" }, h("span", { class: "chip good" }, `a ${found.kind === "operators" ? "filter with operators" : found.kind}`),
      ` costs ${count(found.cost)}, reads `, reads.length ? reads.flatMap((one, index) => (index ? [", ", ...one] : one)) : "nothing", "."));
  }

  function drawParse(found) {
    if (!found.valid) {
      put(parse, h("p", { class: "quiet" }, "Its tree is shown here as soon as it makes sense."));
      return;
    }
    const node = (part) => h("li", null,
      h("span", { class: "part", tabindex: "0", onmouseenter: () => light(part), onmouseleave: () => when.hover(), onfocus: () => light(part), onblur: () => when.hover() },
        h("span", { class: "what" }, part.what), part.parts.length ? null : code(part.text)),
      part.parts.length > 0 && h("ul", null, part.parts.map(node)));
    const light = (part) => when.hover(units(when.text, part.start), units(when.text, part.end));
    put(parse, h("ul", { class: "tree" }, node(found.tree)),
      found.normal_form && [h("h3", null, "Normal form"), h("p", { class: "hint" }, found.normal_form.length > 1 ? "As the index sees it: it matches where one of these lines holds." : "As the index sees it."),
        h("ul", { class: "lines" }, found.normal_form.map((line) => h("li", null, code(line))))],
      found.machine && [h("h3", null, "As a machine"), drawMachine(found.machine), h("button", { class: "small", onclick: () => copy(found.machine.mermaid, "Mermaid") }, "Copy as Mermaid")]);
  }

  async function tryIt(found, mine) {
    if (!found.valid) { put(trials, h("p", { class: "quiet" }, "Nothing is tried before it makes sense.")); return; }
    let some;
    try { some = samples(); } catch (error) {
      put(trials, h("div", { class: "note bad" }, h("strong", null, "These events cannot be read"), h("p", null, error.message), h("p", { class: "hint" }, "Every line is a JSON object of its own, with names in double quotes.")));
      return;
    }
    if (!some.length) { put(trials, h("p", { class: "quiet" }, "Write an event on the left, and see here whether it matches, and why.")); return; }
    try {
      const tried = await post("/v1/subscriptions:test", { when: when.text, stream: stream.value, events: some, recent: false, ...(predict() ? { predict: predict() } : {}) }, signal);
      if (mine === turn) put(trials, tried.events.map((one) => trial(one, found.kind)));
    } catch (error) {
      if (!signal.aborted) put(trials, trouble(error));
    }
  }

  function drawHour(found) {
    const answer = h("span", { class: "quiet", role: "status" });
    const ask = async () => {
      answer.textContent = "Trying …";
      try {
        const tried = await post("/v1/subscriptions:test", { when: when.text, stream: stream.value, recent: true, ...(predict() ? { predict: predict() } : {}) }, signal);
        answer.textContent = tried.recent_events
          ? `${counted(tried.recent_matches, "match", "matches")}${tried.recent_predictions ? ` and ${counted(tried.recent_predictions, "prediction")}` : ""} in ${counted(tried.recent_events, "event")} of the last hour (${share(tried.recent_matches / tried.recent_events)}).`
          : "No event came in the last hour.";
      } catch (error) { if (!signal.aborted) put(answer, trouble(error)); }
    };
    put(hour, h("button", { disabled: !found.valid, onclick: ask }, "Try it on the last hour"), answer);
    const name = h("input", { placeholder: "who is told", "aria-label": "Subscriber", maxlength: 200 });
    const subscribe = async (event) => {
      event.preventDefault();
      try {
        const made = await post("/v1/subscriptions", { when: when.text, stream: stream.value, ...(name.value ? { subscriber: name.value } : {}), ...(predict() ? { predict: predict() } : {}) }, signal);
        put(stands, h("div", { class: "note good" }, h("strong", null, "It stands, for a day"), h("p", null, "Its ticket is shown only now; renewing, replacing and cancelling need it."),
          h("pre", { class: "copy" }, made.ticket), h("div", { class: "row" }, h("button", { class: "small", onclick: () => copy(made.ticket, "Ticket") }, "Copy the ticket"), h("a", { class: "button small", href: `#/subscriptions/${encodeURIComponent(made.id)}` }, "Look at it"))));
        say("Subscribed");
      } catch (error) { if (!signal.aborted) put(stands, trouble(error)); }
    };
    if (!stands.querySelector(".good")) put(stands, h("form", { class: "row", onsubmit: subscribe }, name, h("button", { class: "main", disabled: !found.valid }, "Subscribe")));
  }

  await look(turn);
}

function trial(one, kind) {
  const predicted = one.told.find((each) => each.kind === "prediction");
  const state = one.matches ? ["good", "✓ matches"] : predicted ? ["warn", `foreseen, ${share(predicted.probability)}`] : ["", kind === "pattern" ? "no match here" : "✗ does not"];
  const steps = one.told.flatMap((each) => Object.entries(each.steps ?? {}));
  return h("details", { class: "trial", open: true },
    h("summary", null, h("code", null, one.event), h("span", { class: `chip ${state[0]}` }, state[1])),
    one.why && h("pre", { class: "why" }, one.why),
    steps.length > 0 && h("p", { class: "hint" }, "Steps: ", steps.map(([step, event], index) => [index ? ", " : "", h("code", null, step), " by ", h("code", null, event)])));
}
