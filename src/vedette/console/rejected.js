// Set aside: events that were accepted and could not be matched, as they break the schema of their stream.

import { every, get } from "./api.js";
import { empty, h, put, trouble } from "./dom.js";
import { count, counted, cut, exactly, inBrief, when } from "./words.js";

export const title = "Set aside";

export async function show(page, _, signal) {
  const place = h("div", { class: "stack" }, h("p", { class: "quiet" }, "Loading …"));
  put(page, h("div", { class: "head" }, h("h1", null, title)),
    h("p", { class: "quiet" }, "An event that breaks the schema of its stream is accepted, counted, and shown here to whoever published it, and to the owner of the stream. Publishing with ?validate=true refuses it instead."), place);
  let before = "";
  await every(3000, signal, async () => {
    try {
      const { streams } = await get("/v1/streams", signal);
      const all = await Promise.all(streams.map((one) => get(`/v1/streams/${encodeURIComponent(one.name)}/rejected?limit=100`, signal)));
      const some = all.filter((one) => one.rejected > 0);
      const now = JSON.stringify(some.map((one) => [one.stream, one.rejected, one.latest.length]));
      if (now === before) return; // what is open stays open
      before = now;
      put(place, some.length ? some.map(streamOf) : h("div", { class: "card" }, empty("Nothing is set aside", h("p", null, "Every event that you published fits the schema of its stream, or its stream has none."))));
    } catch (error) {
      if (signal.aborted) return;
      before = "";
      put(place, trouble(error));
    }
  });
}

function streamOf({ stream, rejected, counts, latest }) {
  const whose = (tenant) => tenant ?? "somebody without a key";
  return h("section", { class: "card flush" },
    h("div", { class: "between pad" }, h("h2", null, `Stream ${stream}`), h("span", { class: "quiet" }, `${counted(rejected, "event")} so far`)),
    counts.length > 1 && h("p", { class: "pad quiet" }, counts.map((one) => `${whose(one.tenant)}: ${count(one.rejected)}`).join(", ")),
    latest.length === 0 ? h("p", { class: "pad quiet" }, "Their time is over: only their number is kept.") :
      h("table", { class: "list dead" }, h("caption", { class: "hidden" }, `Events of ${stream} that were set aside, the latest first`),
        h("thead", null, h("tr", null, ["When", "Id", "Why", "Event"].map((says) => h("th", { scope: "col" }, says)))),
        h("tbody", null, latest.map((one) => h("tr", null,
          h("td", { "data-label": "When", title: exactly(one.time) }, when(one.time)),
          h("td", { "data-label": "Id", class: "mono", title: `published by ${whose(one.tenant)}` }, h("span", { class: "cut" }, cut(one.id, 60))),
          h("td", { "data-label": "Why" }, one.attribute && [h("code", null, one.attribute), ": "], one.reason),
          h("td", { "data-label": "Event", class: "mono" }, one.event === null ? h("span", { class: "quiet" }, "too large to keep") :
            h("details", null, h("summary", null, h("span", { class: "cut" }, cut(inBrief(one.event), 300))), h("pre", { class: "whole" }, JSON.stringify(one.event, null, 2)))))))));
}
