// A link that has the playground in it: after the #, so that no server ever sees it.

export function linkTo(what) {
  const bytes = new TextEncoder().encode(JSON.stringify(what));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return `#/playground/${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** What a link says; null if it was cut, or is none. */
export function fromLink(text) {
  try {
    const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const found = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(plain, (each) => each.charCodeAt(0))));
    return typeof found === "object" && found !== null && typeof found.when === "string" ? found : null;
  } catch {
    return null;
  }
}
