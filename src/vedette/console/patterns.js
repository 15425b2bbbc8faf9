// Patterns: each as a machine, with how many partial matches stand where, and how probably they complete.

import { every, get, pages } from "./api.js";
import { code } from "./tokens.js";
import { copy, empty, h, put, trouble } from "./dom.js";
import { drawMachine } from "./graph.js";
import { count, counted, named, share } from "./words.js";

export const title = "Patterns";

export async function show(page, [id], signal) {
  const all = (await pages("/v1/subscriptions", "subscriptions", signal)).filter((one) => one.kind === "pattern");
  const head = h("div", { class: "head" }, h("h1", null, title));
  if (!all.length) {
    put(page, head, h("div", { class: "card" }, empty("No pattern stands",
      h("p", null, "A pattern is about several events: one after the other, by the same user, within ten minutes. It is shown here as a machine, with how far events have brought it."),
      code("a:[login = 'failed']{3} ; b:[login = 'ok'] by user within 10 min", "pre"),
      h("a", { class: "button main", href: "#/playground" }, "Write one in the playground"))));
    return;
  }
  const one = all.find((each) => each.id === id) ?? all[0];
  put(page, head,
    h("div", { class: "picker", role: "navigation", "aria-label": "Patterns" }, all.map((each) => h("a", { class: "pick", href: `#/patterns/${encodeURIComponent(each.id)}`, "aria-current": each === one ? "true" : null, title: each.when }, named(each)))),
    machineOf(one, signal));
}

/** A card with the machine of a pattern, which stays up to date. */
export function machineOf(one, signal) {
  const picture = h("div");
  const about = h("div");
  let before = "";
  const card = h("section", { class: "card" },
    h("div", { class: "between" }, h("h2", null, named(one)), h("span", { class: "pulse on" }, "live")),
    code(one.when, "pre"), picture, about);
  every(1000, signal, async () => {
    try {
      const found = await get(`/v1/subscriptions/${encodeURIComponent(one.id)}/machine`, signal);
      const now = JSON.stringify(found);
      if (now === before) return;
      before = now;
      const at = picture.querySelector(".scroll")?.scrollLeft ?? 0;
      put(picture, drawMachine(found));
      picture.querySelector(".scroll").scrollLeft = at;
      put(about, aboutForecasts(found), h("button", { class: "small", onclick: () => copy(found.mermaid, "Mermaid") }, "Copy as Mermaid"));
    } catch (error) {
      if (!signal.aborted) { before = ""; put(about, trouble(error)); }
    }
  });
  return card;
}

function aboutForecasts(found) {
  const standing = found.states.reduce((sum, each) => sum + (each.standing ?? 0), 0);
  const here = h("p", null, standing ? `${counted(standing, "partial match waits", "partial matches wait")} for more: the round numbers say where.` : "No partial match waits: nothing has begun that could still complete.");
  if (!found.forecasts) {
    return [here, h("div", { class: "note" }, h("strong", null, "No forecasts"), h("p", null, "This pattern tells when it completes, and not before: whoever subscribed did not ask for forecasts, so there are no probabilities here."),
      h("p", { class: "hint" }, "Subscribe with ", h("code", null, 'predict: {"within": 10, "threshold": 0.5}'), " to be told what will probably happen."))];
  }
  const { within, threshold, score } = found.forecasts;
  const learnt = found.states.some((each) => each.probability !== null);
  const fact = (says, value, more) => h("div", { title: more }, h("dt", null, says), h("dd", null, value));
  return [here,
    !learnt && h("div", { class: "note" }, h("strong", null, "Nothing is learnt yet"), h("p", null, "Probabilities come from the events of this stream: they appear here after some dozens.")),
    h("p", null, `Told as soon as it completes within ${counted(within, "event")} with a probability of ${share(threshold)} at least. The bars say how probably it completes from each state.`),
    score && h("dl", { class: "facts" },
      fact("Forecasts judged", count(score.forecasts)), fact("Predictions told", count(score.predictions)),
      fact("Of these came true", share(score.precision), "precision"), fact("Matches foreseen", share(score.recall), "recall"),
      fact("Brier score", score.brier === null ? "–" : score.brier.toFixed(3), "0 is perfect"))];
}
