// The API as a page to read, made of what the service says of itself (/openapi.json). It loads nothing from elsewhere:
// whatever runs here could read the key of a console that was open in this tab.

import { copy, h, put, trouble } from "./dom.js";

const TAGS = {
  subscriptions: "Subscribe", events: "Publish", notifications: "Be told", offers: "Offers and wants",
  looking: "Look", admin: "For whoever runs the service",
};
const DEEPEST = 4;

/** A request has a place of its own in the page. */
const place = (one) => `${one.method}${one.path.replace(/[^a-z0-9]+/gi, "-")}`.replace(/-$/, "");

function requests(document_) {
  return Object.entries(document_.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, said]) => ({ path, method, said, tag: said.tags?.[0] ?? "other" })));
}

/** What a reference stands for. */
function meant(schema, all) {
  if (!schema?.$ref) return schema ?? {};
  return { name: schema.$ref.split("/").at(-1), ...schema.$ref.slice(2).split("/").reduce((part, name) => part[name], all) };
}

function typeOf(given, all) {
  const one = meant(given, all);
  const several = one.anyOf ?? one.oneOf;
  if (several) return [...new Set(several.map((each) => typeOf(each, all)))].join(" or ");
  if (one.const !== undefined) return JSON.stringify(one.const);
  if (one.enum) return one.enum.map((each) => JSON.stringify(each)).join(" or ");
  if (one.type === "array") return `list of ${typeOf(one.items, all)}`;
  if (one.type === "object" && one.additionalProperties?.type) return `object of ${typeOf(one.additionalProperties, all)}`;
  const [least, most] = [one.minimum ?? one.exclusiveMinimum ?? one.minLength, one.maximum ?? one.maxLength];
  const unit = one.type === "string" ? " characters" : "";
  const size = most !== undefined && least !== undefined ? `, ${least} to ${most}${unit}` : most !== undefined ? `, at most ${most}${unit}` : "";
  return `${one.type ?? "anything"}${size}`;
}

/** The attributes of an object, and of objects in it. */
function fields(given, all, asked, depth = 0) {
  const one = meant(given, all);
  if (depth > DEEPEST) return null;
  const inner = one.type === "array" ? meant(one.items, all) : one;
  const parts = (inner.anyOf ?? inner.oneOf ?? [inner]).map((each) => meant(each, all)).map((each) => (each.type === "array" ? meant(each.items, all) : each));
  const found = parts.filter((each) => each.properties).map((each) => h("ul", { class: "fields" },
    Object.entries(each.properties).map(([name, below]) => h("li", null,
      h("code", null, name), " ", h("span", { class: "quiet" }, typeOf(below, all)), " ",
      asked && each.required?.includes(name) && h("span", { class: "needed" }, "needed"),
      below.default !== undefined && below.default !== null && typeof below.default !== "object" && h("span", { class: "quiet" }, ` = ${JSON.stringify(below.default)}`),
      fields(below, all, asked, depth + 1)))));
  return found.length ? found : null;
}

function asCommand({ path, method, said }, all) {
  const lines = [`curl ${method === "get" ? "" : `-X ${method.toUpperCase()} `}"${location.origin}${path.replace(/\{(\w+)\}/g, (_, name) => `$${name.toUpperCase()}`)}"`];
  const scheme = said.security?.flatMap(Object.keys)[0];
  if (scheme) lines.push(`-H "Authorization: Bearer ${scheme === "admin_key" ? "$ADMIN_KEY" : "$VEDETTE_KEY"}"`);
  if (said.parameters?.some((one) => one.name === "Vedette-Ticket")) lines.push('-H "Vedette-Ticket: $TICKET"');
  const content = said.requestBody?.content?.["application/json"];
  const example = content && (content.example ?? meant(content.schema, all).examples?.[0]);
  if (content) lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(example ?? {}).replaceAll("'", "'\\''")}'`);
  return lines.join(" \\\n  ");
}

/** The end of a path, which tells it from others. */
const brief = (path) => { const rest = path.replace("/v1", ""); return rest.length > 20 ? `…${rest.slice(-19)}` : rest; };

const methodOf = (one) => h("span", { class: `method ${one.method}` }, one.method.toUpperCase());

function shown(one, all) {
  const { said } = one;
  const parameters = said.parameters ?? [];
  const body = said.requestBody?.content ?? {};
  const media = Object.keys(body);
  const good = Object.entries(said.responses).filter(([status]) => status.startsWith("2"));
  const command = asCommand(one, all);
  return h("article", { class: "card request", id: place(one) },
    h("h3", null, methodOf(one), h("code", null, one.path)),
    (said.description ?? said.summary ?? "").split("\n\n").map((text) => h("p", null, text)),
    parameters.length > 0 && [h("h4", null, "Parameters"), h("ul", { class: "fields" }, parameters.map((each) => h("li", null,
      h("code", null, each.name), " ", h("span", { class: "quiet" }, `${typeOf(each.schema, all)}, in the ${each.in}`), " ",
      each.required && h("span", { class: "needed" }, "needed"),
      each.schema?.default !== undefined && each.schema.default !== null && h("span", { class: "quiet" }, ` = ${JSON.stringify(each.schema.default)}`))))],
    media.length > 0 && [h("h4", null, "Body"), h("p", { class: "hint" }, media.join(", ")), fields(body["application/json"]?.schema, all, true)],
    good.map(([status, answer]) => {
      const schema = answer.content?.["application/json"]?.schema;
      return [h("h4", null, `Answer ${status}`), fields(schema, all, false) ?? h("p", { class: "hint" }, schema ? typeOf(schema, all) : status === "204" ? "nothing" : "a stream of server-sent events: see /asyncapi.json")];
    }),
    h("div", { class: "between" }, h("h4", null, "For example"), h("button", { class: "small", onclick: () => copy(command, "Command") }, "Copy")),
    h("pre", { class: "copy" }, command));
}

async function show() {
  const app = document.getElementById("app");
  try {
    const answer = await fetch("/openapi.json", { credentials: "omit" });
    const all = await answer.json();
    const every = requests(all);
    const tags = [...new Set([...Object.keys(TAGS), ...every.map((one) => one.tag)])].filter((tag) => every.some((one) => one.tag === tag));
    const of = (tag) => every.filter((one) => one.tag === tag);
    put(app, h("div", { class: "frame" },
      h("header", { class: "side" },
        h("a", { class: "brand", href: "/" }, h("img", { src: "mark.svg", alt: "", class: "mark", width: 28, height: 28 }), h("span", null, "Vedette")),
        h("nav", { class: "parts", "aria-label": "Requests" }, tags.map((tag) => [h("h2", null, TAGS[tag] ?? tag),
          of(tag).map((one) => h("a", { href: `#${place(one)}`, title: `${one.method.toUpperCase()} ${one.path}` }, methodOf(one), h("span", null, brief(one.path))))]))),
      h("main", { id: "content", class: "api", tabindex: "-1" },
        h("h1", null, "API"),
        h("p", null, all.info.summary, " Everything below ", h("code", null, "/v1"), " needs ", h("code", null, "Authorization: Bearer KEY"), ", and changing a subscription or an offer needs its ", h("code", null, "Vedette-Ticket"), ", too."),
        h("p", null, "Mistakes are always ", h("code", null, "application/problem+json"), " (RFC 9457), with ", h("code", null, "type"), ", ", h("code", null, "title"), ", ", h("code", null, "status"), ", ", h("code", null, "detail"), ", and often ", h("code", null, "hint"), " and ", h("code", null, "where"), "."),
        h("p", null, "For machines: ", h("a", { href: "/openapi.json" }, "OpenAPI"), ", and for the streams ", h("a", { href: "/asyncapi.json" }, "AsyncAPI"), `. This is version ${all.info.version}.`),
        tags.map((tag) => h("section", null, h("h2", null, TAGS[tag] ?? tag), of(tag).map((one) => shown(one, all)))))));
    if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  } catch {
    put(app, h("main", { class: "alone" }, trouble({ title: "The service does not answer", message: "What it says of itself could not be loaded.", hint: "See whether `vedette serve` still runs." }, show)));
  }
}

show();
