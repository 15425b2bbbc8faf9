// A pattern as states and steps. The service says which there are; here they get a place.

import { h, s } from "./dom.js";
import { count, share } from "./words.js";

const HIGH = 58, DOWN = 104, LETTER = 7.4, SMALL = 6.4, MARGIN = 18, LINE = 26;

function lines(label) {
  const found = [""];
  for (const word of label.split(" ")) {
    if (found.at(-1) && `${found.at(-1)} ${word}`.length > LINE) found.push(word);
    else found[found.length - 1] = `${found.at(-1)} ${word}`.trim();
  }
  const cut = (text) => (text.length > LINE ? `${text.slice(0, LINE - 1)}…` : text);
  return found.length <= 2 ? found.map(cut) : [cut(found[0]), cut(`${found[1]} …`)];
}

function layout({ states, moves }) {
  const depths = Math.max(...states.map((one) => one.depth));
  const wide = Array.from({ length: depths + 1 }, (_, depth) => Math.min(220, Math.max(96, ...states.filter((one) => one.depth === depth).map((one) => one.label.length * LETTER + 32))));
  const between = Array.from({ length: depths + 1 }, (_, depth) => Math.max(64, ...moves.filter((one) => states[one.source].depth === depth)
    .map((one) => Math.max(...lines(one.label).map((each) => each.length)) * SMALL + 44)));
  const across = [MARGIN];
  for (let depth = 0; depth < depths; depth += 1) across.push(across[depth] + wide[depth] + between[depth]);
  const rows = Array.from({ length: depths + 1 }, () => 0);
  const most = Math.max(...rows.map((_, depth) => states.filter((one) => one.depth === depth).length));
  const places = states.map((one) => {
    const mine = states.filter((each) => each.depth === one.depth).length;
    return { x: across[one.depth], y: 34 + (rows[one.depth]++ + (most - mine) / 2) * DOWN, w: wide[one.depth] };
  });
  return { places, width: across.at(-1) + wide.at(-1) + MARGIN, height: 34 + (most - 1) * DOWN + HIGH + 22 };
}

/** The picture, in a box that scrolls sideways where there is no room. */
export function drawMachine(machine) {
  const { places, width, height } = layout(machine);
  const beside = new Map();
  let deepest = 0;
  const edges = machine.moves.map((move) => {
    const [from, to] = [places[move.source], places[move.target]];
    const over = machine.states[move.target].depth - machine.states[move.source].depth > 1;
    const name = `${move.source} ${move.target}`;
    const bend = 40 * (beside.get(name) ?? (over ? 1 : 0));
    beside.set(name, (beside.get(name) ?? (over ? 1 : 0)) + 1);
    deepest = Math.max(deepest, bend);
    const [x1, y1, x2, y2] = [from.x + from.w, from.y + HIGH / 2, to.x - 7, to.y + HIGH / 2];
    const middle = (x1 + x2) / 2, reach = Math.max(24, (x2 - x1) / 2);
    const text = lines(move.label);
    const y = (y1 + y2) / 2 + bend * 0.75 - 10;
    return s("g", { class: `move${move.next ? " next" : ""}` }, s("title", null, move.label),
      s("path", { d: `M${x1} ${y1} C${x1 + reach} ${y1 + bend} ${x2 - reach} ${y2 + bend} ${x2} ${y2}` }),
      s("path", { class: "tip", d: `M${x2} ${y2 - 4.5} l7 4.5 l-7 4.5z` }),
      text.map((line, row) => s("text", { x: middle, y: y - 13 * (text.length - 1 - row), "text-anchor": "middle" }, line)));
  });
  const nodes = machine.states.map((state, number) => {
    const { x, y, w } = places[number];
    const said = state.probability === null ? "" : share(state.probability);
    return s("g", { class: `state ${state.kind}` },
      s("rect", { x, y, width: w, height: HIGH, rx: state.kind === "state" ? 10 : HIGH / 2 }),
      state.probability !== null && s("rect", { class: "likely", x: x + 12, y: y + HIGH - 12, width: Math.max(2, (w - 24) * state.probability), height: 4, rx: 2 }),
      state.probability !== null && s("rect", { class: "all", x: x + 12, y: y + HIGH - 12, width: w - 24, height: 4, rx: 2 }),
      s("text", { x: x + w / 2, y: y + (said ? 23 : HIGH / 2 + 4), "text-anchor": "middle" }, state.label.length * LETTER > 200 ? `${state.label.slice(0, 25)}…` : state.label, s("title", null, state.label)),
      said && s("text", { class: "share", x: x + w / 2, y: y + 40, "text-anchor": "middle" }, said),
      state.standing > 0 && [s("rect", { class: "here", x: x + w - 14 - String(state.standing).length * 8, y: y - 11, width: 22 + String(state.standing).length * 8, height: 22, rx: 11 }),
        s("text", { class: "here", x: x + w - 3 - String(state.standing).length * 4, y: y + 4, "text-anchor": "middle" }, count(state.standing))]);
  });
  const tall = height + deepest * 0.8;
  const svg = s("svg", { viewBox: `0 0 ${width} ${tall}`, role: "img" }, edges, nodes);
  svg.style.maxWidth = `${width}px`; // it shrinks to the room there is, as long as it can be read
  svg.style.minWidth = `${width * 0.7}px`;
  const says = machine.states.map((one) => `${one.label}${one.probability === null ? "" : `, ${share(one.probability)}`}${one.standing ? `, ${one.standing} here` : ""}`).join("; ");
  svg.setAttribute("aria-label", `${machine.title}: ${says}`);
  return h("figure", { class: "machine" },
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "The machine; scrolls sideways" },
      svg),
    h("figcaption", null, machine.title, " · solid: the very next event, dashed: any later one"));
}
