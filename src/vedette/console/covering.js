// Covering: subscriptions that others make redundant, as boxes in boxes, and one of them in the plane.

import { get } from "./api.js";
import { code } from "./tokens.js";
import { empty, h, put, s, trouble } from "./dom.js";
import { count, counted, cut, named } from "./words.js";

export const title = "Covering";
const METHODS = {
  pairwise: "one other covers it", exact: "several together cover it", witness: "an event shows that no other does", equal: "another says the same",
  never: "it can never match", empty: "all others leave a part of it", sampling: "points were drawn", budget: "the search was given up", opaque: "only its like can cover it", limit: "it has too many parts to decide",
};

export async function show(page, [id], signal) {
  const { streams } = await get("/v1/streams", signal);
  const all = await Promise.all(streams.map((one) => get(`/v1/covering?stream=${encodeURIComponent(one.name)}&limit=500`, signal)));
  const some = all.filter((one) => one.considered > 0);
  const head = h("div", { class: "head" }, h("h1", null, title));
  const lead = h("p", { class: "quiet" }, "A subscription is covered where every event that it matches is matched by others as well. It is told all the same: this only says what is redundant.");
  if (!some.length) {
    put(page, head, lead, h("div", { class: "card" }, empty("Nothing to compare", h("p", null, "As soon as several subscriptions stand, those that others make redundant are shown here."), h("a", { class: "button main", href: "#/playground" }, "Write one in the playground"))));
    return;
  }
  const side = h("div", { class: "stack stays" });
  put(page, head, lead, h("div", { class: "two" }, h("div", { class: "stack" }, some.map((one) => boxes(one, id))), side));
  const chosen = some.flatMap((one) => one.subscriptions).find((one) => one.subscription === id)
    ?? some.flatMap((one) => one.subscriptions).find((one) => one.covered) ?? some[0].subscriptions[0];
  try {
    const found = await get(`/v1/subscriptions/${encodeURIComponent(chosen.subscription)}/covering?limit=500`, signal);
    put(side, planeOf({ ...chosen, id: chosen.subscription }, found, signal));
  } catch (error) {
    if (!signal.aborted) put(side, trouble(error));
  }
}

/** Those that matter, each with those inside that it covers. */
function boxes(found, id) {
  const link = (one, kind) => h("a", { class: `boxed ${kind}`, href: `#/covering/${encodeURIComponent(one.subscription)}`, "aria-current": one.subscription === id ? "true" : null, title: one.when },
    h("span", null, named(one)), h("span", { class: "cut" }, code(one.when)));
  const alone = found.subscriptions.filter((one) => one.covered && one.by.length === 1);
  const together = found.subscriptions.filter((one) => one.covered && one.by.length > 1);
  const never = found.subscriptions.filter((one) => one.covered && !one.by.length);
  const names = new Map(found.subscriptions.map((one) => [one.subscription, named(one)]));
  const active = found.subscriptions.filter((one) => !one.covered);
  const inside = (one) => alone.filter((each) => each.by[0] === one.subscription);
  const rank = [...active].sort((one, other) => inside(other).length - inside(one).length);
  return h("section", { class: "card" },
    h("div", { class: "between" }, h("h2", null, `Stream ${found.stream}`), h("span", { class: "quiet" }, `${count(found.active)} matter, ${count(found.considered - found.active)} redundant`)),
    h("div", { class: "boxes" }, rank.map((one) => h("div", { class: "box" }, link(one, "active"), inside(one).map((each) => link(each, "inside")))),
      together.map((one) => h("div", { class: "box joint" }, h("span", { class: "hint" }, `covered by ${one.by.map((each) => names.get(each) ?? each).join(" and ")} together`), link(one, "inside"))),
      never.map((one) => h("div", { class: "box joint" }, h("span", { class: "hint" }, "can never match"), link(one, "inside")))),
    found.left_out > 0 && h("p", { class: "hint" }, `${counted(found.left_out, "more is", "more are")} not looked at here: wants, or beyond the oldest 500.`));
}

/** A link to another subscription, which is named as soon as its name is known. */
function linked(id, signal) {
  const link = h("a", { href: `#/covering/${encodeURIComponent(id)}` }, cut(id, 12));
  get(`/v1/subscriptions/${encodeURIComponent(id)}`, signal).then((one) => { link.textContent = named(one); link.title = one.when; }, () => {});
  return link;
}

/** One subscription among those that meet it, in the plane of its two attributes; `told` is false where it stands above. */
export function planeOf(one, { answer, picture, why_no_picture: why }, signal, told = true) {
  const by = answer.by.slice(0, 5).map((id, index) => [index ? ", " : ": ", linked(id, signal)]);
  const verdict = answer.covered
    ? h("p", null, h("span", { class: "chip warn" }, "redundant"), ` ${METHODS[answer.method] ?? answer.method}`, by, answer.by.length > 5 && ` and ${count(answer.by.length - 5)} more`)
    : h("p", null, h("span", { class: "chip good" }, "matters"), ` ${METHODS[answer.method] ?? answer.method}${answer.certain ? "" : ", as far as can be said"}`);
  return h("section", { class: "card" },
    h("h2", null, "Among the others", told && `: ${named(one)}`), told && code(one.when, "pre"), verdict,
    answer.witness && Object.keys(answer.witness).length > 0 && h("p", null, "Only it matches ", h("code", null, JSON.stringify(answer.witness)), "."),
    picture ? plane(picture) : h("div", { class: "note" }, h("strong", null, "No picture of this one"), h("p", null, `${why[0].toUpperCase()}${why.slice(1)}.`)));
}

/** A single value has two ends that are called alike: one name, in the middle, is enough. */
function apart(ticks) {
  const places = new Map();
  for (const [at, text] of ticks) places.set(text, [...(places.get(text) ?? []), at]);
  return [...places].map(([text, some]) => [some.reduce((sum, at) => sum + at, 0) / some.length, text]);
}

function plane(picture) {
  const SIDE = 360, LEFT = 64, TOP = 20, LOW = 44;
  const x = (at) => LEFT + SIDE * at, y = (at) => TOP + SIDE * (1 - at);
  const order = { other: 0, covers: 1, asked: 2 };
  const shapes = [...picture.rectangles].sort((one, other) => order[one.part] - order[other.part]);
  const parts = [["asked", "this one"], ["covers", "covers it"], ["other", "meets it"]].filter(([part]) => shapes.some((one) => one.part === part));
  return h("figure", { class: "plane" },
    s("svg", { viewBox: `0 0 ${LEFT + SIDE + 12} ${TOP + SIDE + LOW}`, role: "img", "aria-label": picture.title },
      s("rect", { class: "ground", x: LEFT, y: TOP, width: SIDE, height: SIDE, rx: 6 }),
      shapes.map((one) => s("rect", { class: `shape ${one.part}${one.dashed ? " dashed" : ""}`, x: x(one.x[0]), y: y(one.y[1]), width: Math.max(3, SIDE * (one.x[1] - one.x[0])), height: Math.max(3, SIDE * (one.y[1] - one.y[0])), rx: 3 }, s("title", null, one.label))),
      apart(picture.x.ticks).map(([at, text]) => s("text", { class: "tick", x: x(at), y: TOP + SIDE + 16, "text-anchor": "middle" }, text)),
      apart(picture.y.ticks).map(([at, text]) => s("text", { class: "tick", x: LEFT - 6, y: y(at) + 4, "text-anchor": "end" }, text)),
      s("text", { class: "axis", x: LEFT + SIDE / 2, y: TOP + SIDE + 36, "text-anchor": "middle" }, picture.x.name),
      s("text", { class: "axis", x: LEFT - 6, y: 12, "text-anchor": "end" }, picture.y.name),
      picture.witness && s("circle", { class: "witness", cx: x(picture.witness[0]), cy: y(picture.witness[1]), r: 6 }, s("title", null, "an event that only this one matches"))),
    h("figcaption", { class: "legend" }, parts.map(([part, says]) => h("span", { class: `key ${part}` }, says)),
      picture.witness && h("span", { class: "key witness" }, "an event that only this one matches"),
      shapes.some((one) => one.dashed) && h("span", { class: "quiet" }, "dashed: asks for further attributes")));
}
