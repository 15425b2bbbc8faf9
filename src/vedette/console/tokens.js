// The words of a filter in colours. A text that makes no sense is coloured as far as it goes.

import { h } from "./dom.js";

const WORDS = "and|or|not|in|between|is|null|true|false|like|contains|startswith|endswith|matches|icontains|istartswith|"
  + "iendswith|ilike|exists|any|all|by|within|cidr|region|point|of|distinct|from|timestamp|date|ip|float|escape";
const TOKEN = new RegExp([
  "(?<string>'(?:[^']|'')*'?)",
  "(?<number>\\b\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?\\b)",
  `(?<word>\\b(?:${WORDS})\\b)`,
  "(?<label>\\b[A-Za-z_]\\w*(?=:\\[))",
  "(?<sign>[;,@{}\\[\\]()]|<=>|[<>!]=?|=|\\.\\.)",
].join("|"), "gi");

/** Pieces of a text: [class or null, piece, where it begins]. */
export function pieces(text) {
  const found = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > at) found.push([null, text.slice(at, match.index), at]);
    found.push([Object.entries(match.groups).find(([, value]) => value !== undefined)[0], match[0], match.index]);
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push([null, text.slice(at), at]);
  return found;
}

/** A text of the language as an element. */
export function code(text, tag = "code") {
  return h(tag, { class: "language" }, pieces(text).map(([kind, piece]) => (kind ? h("span", { class: `t-${kind}` }, piece) : piece)));
}

/** The same with some parts marked: [start, end, class] in UTF-16 units. */
export function marked(text, marks) {
  const cuts = new Set([0, text.length]);
  for (const [start, end] of marks) cuts.add(start).add(end);
  for (const [, piece, at] of pieces(text)) cuts.add(at).add(at + piece.length);
  const ends = [...cuts].sort((one, other) => one - other);
  const kinds = pieces(text);
  let place = 0;
  return ends.slice(1).map((end, index) => {
    const start = ends[index];
    while (kinds[place] && kinds[place][2] + kinds[place][1].length <= start) place += 1;
    const kind = kinds[place]?.[0];
    const found = marks.filter(([from, to]) => from <= start && end <= to).map(([, , name]) => name);
    const names = [...(kind ? [`t-${kind}`] : []), ...found];
    return names.length ? h("span", { class: names.join(" ") }, text.slice(start, end)) : text.slice(start, end);
  });
}

/** The service counts characters, JavaScript UTF-16 units. */
export function units(text, place) {
  let at = 0;
  let left = place;
  for (const letter of text) {
    if (left-- <= 0) break;
    at += letter.length;
  }
  return at;
}
