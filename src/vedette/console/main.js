// Which page is shown? The part of the address after # says so; without a key, the way in.

import { get, key } from "./api.js";
import { h, put, trouble } from "./dom.js";
import { count } from "./words.js";
import * as covering from "./covering.js";
import * as dead from "./dead.js";
import * as live from "./live.js";
import * as patterns from "./patterns.js";
import * as playground from "./playground.js";
import * as rejected from "./rejected.js";
import * as subscriptions from "./subscriptions.js";

const PAGES = { live, subscriptions, playground, patterns, covering, "dead-letters": dead, "set-aside": rejected };
const ICONS = {
  live: "M2 12h4l3-8 4 16 3-8h4",
  subscriptions: "M4 6h16M4 12h16M4 18h10",
  playground: "M8 5l-5 7 5 7M16 5l5 7-5 7",
  patterns: "M5 12a2 2 0 104 0 2 2 0 10-4 0M15 6a2 2 0 104 0 2 2 0 10-4 0M15 18a2 2 0 104 0 2 2 0 10-4 0M9 11l6-4M9 13l6 4",
  covering: "M3 4h14v14H3zM8 9h13v11H8z",
  "dead-letters": "M3 6h18v12H3zM3 7l9 7 9-7",
  "set-aside": "M12 3l10 18H2zM12 10v5M12 18v0.5",
};
const app = document.getElementById("app");
let leaving = new AbortController();
let entering = false; // a key is being tried: that it is refused is said where it was typed

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

const mark = () => h("img", { src: "mark.svg", alt: "", class: "mark", width: 28, height: 28 });

// ---------------------------------------------------------------- the way in

function signIn(problem) {
  leaving.abort();
  const field = h("input", {
    id: "key", type: "password", autocomplete: "off", spellcheck: "false", required: true, placeholder: "vk_…",
    "aria-describedby": "key-hint",
  });
  const said = h("div");
  if (problem) put(said, trouble(problem));
  const enter = async (event) => {
    event.preventDefault();
    key.set(field.value.trim());
    try {
      entering = true;
      await get("/v1/tenant").finally(() => { entering = false; });
      await show();
    } catch (error) {
      if (error.status === 401) {
        error.title = "This key opens nothing";
        error.hint = "A tenant's key begins with vk_. Whoever runs the service can make another one.";
      }
      key.forget();
      put(said, trouble(error));
      field.focus();
    }
  };
  document.title = "Vedette";
  put(app, h("main", { class: "door", id: "main" },
    h("form", { class: "card", onsubmit: enter },
      h("div", { class: "brand" }, mark(), h("h1", null, "Vedette")),
      h("p", { class: "quiet" }, "See what happens, who is told, and why."),
      h("label", { for: "key" }, "Key of a tenant"),
      field,
      h("p", { class: "hint", id: "key-hint" },
        h("code", null, "vedette serve"), " shows the first one when it first starts. It is kept in this tab only, and gone when you close it."),
      h("button", { class: "main", type: "submit" }, "Open the console"),
      said)));
  field.focus();
}

// ---------------------------------------------------------------- the frame

function frame(name) {
  const link = (to) => h("a", { href: `#/${to}`, "aria-current": to === name ? "page" : null }, icon(to), h("span", null, PAGES[to].title));
  const whose = h("span", { class: "tenant" });
  const page = h("main", { id: "main", tabindex: "-1" });
  put(app, h("div", { class: "frame" },
    h("header", { class: "side" },
      h("a", { class: "brand", href: "#/live" }, mark(), h("span", null, "Vedette")),
      h("nav", { "aria-label": "Pages" }, Object.keys(PAGES).map(link)),
      h("div", { class: "foot" }, whose,
        h("a", { class: "quiet", href: "/docs" }, "API"),
        h("button", { class: "plain", onclick: () => { key.forget(); signIn(); } }, "Sign out"))),
    page));
  document.body.focus({ preventScroll: true }); // as on any new page: the first Tab finds the way to the content
  const here = app.querySelector("nav [aria-current]"); // on a narrow screen the pages scroll sideways
  here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 40;
  get("/v1/tenant", leaving.signal).then((mine) => {
    whose.textContent = mine.name;
    whose.title = `${count(mine.subscriptions)} of ${count(mine.most_subscriptions)} subscriptions, cost ${count(mine.cost)} of ${count(mine.most_cost)}`;
  }, () => {});
  return page;
}

export async function show() {
  leaving.abort();
  leaving = new AbortController();
  if (!key.get()) return signIn();
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  if (!(name in PAGES)) return location.replace("#/live");
  const { signal } = leaving;
  const page = frame(name);
  document.title = `${PAGES[name].title} · Vedette`;
  try {
    await PAGES[name].show(page, rest.map(decodeURIComponent), signal);
  } catch (error) {
    if (!signal.aborted) put(page, h("h1", null, PAGES[name].title), trouble(error, show));
  }
}

window.addEventListener("hashchange", () => {
  show();
  window.scrollTo(0, 0);
});
window.addEventListener("vedette:locked", (event) => {
  if (entering || !key.get()) return;
  key.forget();
  const problem = event.detail;
  problem.title = "Please sign in again";
  signIn(problem);
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part after # says which page it is
  document.getElementById("main")?.focus();
});
show();
