// Elements are made of parts, never of text that would be read as HTML: whatever an event says stays a text.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** An element of HTML: h("p", {class: "quiet"}, "text", other). */
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);

/** An element of SVG. */
export const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

/** Let a node have these children and no others. */
export function put(node, ...children) {
  const made = document.createDocumentFragment();
  append(made, children);
  node.replaceChildren(made);
  return node;
}

let fading = 0;

/** Say something in passing; screen readers hear of it. */
export function say(text) {
  const place = document.getElementById("said");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => place.classList.remove("shown"), 4000);
}

/** What went wrong, what it means and how to mend it. */
export function trouble(error, again) {
  return h("div", { class: "note bad", role: "alert" },
    h("strong", null, error.title ?? "Something went wrong"),
    h("p", null, error.message),
    error.hint && h("p", { class: "hint" }, error.hint),
    again && h("button", { class: "small", onclick: again }, "Try again"));
}

/** What is there while there is nothing. */
export function empty(title, ...more) {
  return h("div", { class: "empty" }, h("h2", null, title), ...more);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
  } catch {
    say("The browser does not let the console copy here: select the text instead");
  }
}
