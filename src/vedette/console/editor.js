// A field for texts of the language: coloured, with what is wrong underlined.

import { h, put } from "./dom.js";
import { marked } from "./tokens.js";

/** `changed` hears of every change. `mark` underlines parts: [start, end, class] in UTF-16 units. */
export function editor({ value, label, id, placeholder, changed }) {
  const shadow = h("pre", { class: "shadow", "aria-hidden": "true" });
  const field = h("textarea", { id, value, placeholder, "aria-label": label, spellcheck: "false", autocapitalize: "off", autocomplete: "off", rows: 5 });
  let marks = [];
  let hover = [];
  const draw = () => {
    const text = field.value;
    put(shadow, marked(text, [...marks, ...hover].map(([start, end, name]) => [Math.min(start, text.length), Math.min(end, text.length), name])), "\n");
    field.rows = Math.min(16, Math.max(4, text.split("\n").length + 1));
    shadow.scrollTop = field.scrollTop;
  };
  field.addEventListener("input", () => { marks = []; hover = []; draw(); changed(); });
  field.addEventListener("scroll", () => { shadow.scrollTop = field.scrollTop; });
  draw();
  return {
    node: h("div", { class: "editor" }, shadow, field),
    field,
    get text() { return field.value; },
    set text(text) { field.value = text; marks = []; draw(); },
    mark(some) { marks = some; draw(); },
    hover(start, end) { hover = start === undefined ? [] : [[start, end, "hover"]]; draw(); },
  };
}
