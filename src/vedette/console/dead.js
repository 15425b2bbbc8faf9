// Dead letters: notifications that could not be delivered, why, and once more.

import { every, get, pages, post } from "./api.js";
import { empty, h, put, say, trouble } from "./dom.js";
import { count, counted, cut, exactly, inBrief, named, when } from "./words.js";

export const title = "Dead letters";

export async function show(page, _, signal) {
  const names = new Map((await pages("/v1/subscriptions", "subscriptions", signal)).map((one) => [one.id, one]));
  const place = h("div", { class: "card flush" }, h("p", { class: "pad quiet" }, "Loading …"));
  const all = h("button", { class: "main", hidden: true, onclick: () => replay(null) }, "Replay all");
  const more = h("button", { hidden: true, onclick: () => load(true) }, "Older ones");
  put(page, h("div", { class: "head" }, h("h1", null, title), h("div", { class: "tools" }, all)),
    h("p", { class: "quiet" }, "When a webhook keeps failing, its notification is given up after the last try, kept here, and the next one goes on. Replaying lets it wait to be delivered again."), place, more);
  let shown = [];
  let before = "";

  async function replay(numbers) {
    try {
      const { replayed } = await post("/v1/dead-letters:replay", numbers ? { numbers } : {}, signal);
      say(`${counted(replayed, "notification")} will be delivered again`);
      await load(false);
    } catch (error) { if (!signal.aborted) say(`${error.message} ${error.hint ?? ""}`); }
  }

  async function load(older) {
    const from = older && shown.length ? `&before=${shown.at(-1).number}` : "";
    const found = (await get(`/v1/dead-letters?limit=100${from}`, signal)).dead_letters;
    shown = older ? [...shown, ...found] : found;
    const now = JSON.stringify(shown.map((one) => one.number));
    all.hidden = !shown.length;
    more.hidden = found.length < 100;
    if (now === before) return;
    before = now;
    if (!shown.length) {
      put(place, empty("Nothing is dead", h("p", null, "Everything that was due has been delivered, or is being tried. Subscriptions with a queue have no dead letters: what is not read waits.")));
      return;
    }
    put(place, h("table", { class: "list dead" }, h("caption", { class: "hidden" }, "Dead letters, the latest first"),
      h("thead", null, h("tr", null, ["Given up", "Subscription", "Why", "Notification", ""].map((says) => h("th", { scope: "col" }, says || h("span", { class: "hidden" }, "Replay"))))),
      h("tbody", null, shown.map(row))));
  }

  function row(one) {
    const id = one.notification.subscription;
    const standing = names.get(id);
    return h("tr", null,
      h("td", { "data-label": "Given up", title: exactly(one.died) }, when(one.died)),
      h("td", { "data-label": "Subscription" }, standing ? h("a", { href: `#/subscriptions/${encodeURIComponent(id)}` }, named(standing)) : h("span", { class: "quiet", title: id }, `${cut(id ?? "", 12)} (gone)`)),
      h("td", { "data-label": "Why" }, h("span", null, one.reason, h("span", { class: "quiet" }, ` after ${counted(one.attempts, "try", "tries")}`))),
      h("td", { "data-label": "Notification", class: "mono" }, h("details", null, h("summary", null, h("span", { class: "cut" }, cut(inBrief(one.notification.event ?? one.notification), 300))), h("pre", { class: "whole" }, JSON.stringify(one.notification, null, 2)))),
      h("td", null, h("button", { class: "small", onclick: () => replay([one.number]), "aria-label": `Replay number ${count(one.number)}` }, "Replay")));
  }

  await every(3000, signal, async () => {
    try { if (shown.length <= 100) await load(false); } catch (error) { if (!signal.aborted) { before = ""; put(place, h("div", { class: "pad" }, trouble(error))); } }
  });
}
