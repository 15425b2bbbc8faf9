// The service's own API. The key stays in this tab (sessionStorage) and travels in a header, never in an address.

const KEY = "vedette.key";

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (text) => sessionStorage.setItem(KEY, text),
  forget: () => sessionStorage.removeItem(KEY),
};

/** A mistake as the service tells it (RFC 9457), or that it cannot be reached. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? "no details");
    this.status = status;
    this.title = body.title ?? `Status ${status}`;
    this.hint = body.hint;
    this.where = body.where;
  }
}

async function asked(method, path, body, signal, headers) {
  try {
    return await fetch(path, {
      method, signal, cache: "no-store", credentials: "omit", redirect: "error",
      headers: {
        Authorization: `Bearer ${key.get() ?? ""}`,
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, {
      title: "The service does not answer",
      detail: "It may have stopped, or the network is down.",
      hint: "See whether `vedette serve` still runs; the console goes on by itself when it is back.",
    });
  }
}

async function refused(answer) {
  let body = {};
  try { body = await answer.json(); } catch { /* it is no problem as RFC 9457 says */ }
  const problem = new Problem(answer.status, body);
  if (answer.status === 401) window.dispatchEvent(new CustomEvent("vedette:locked", { detail: problem }));
  return problem;
}

export async function call(method, path, body, signal) {
  const answer = await asked(method, path, body, signal);
  if (!answer.ok) throw await refused(answer);
  return answer.status === 204 ? null : answer.json();
}

export const get = (path, signal) => call("GET", path, undefined, signal);
export const post = (path, body, signal) => call("POST", path, body, signal);

/** Server-sent events by fetch, since EventSource cannot send a key. Ends when the server ends, or the signal says so. */
export async function follow(path, signal, heard) {
  const answer = await asked("GET", path, undefined, signal, { Accept: "text/event-stream" });
  if (!answer.ok) throw await refused(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const messages = rest.split("\n\n");
    rest = messages.pop();
    for (const message of messages) {
      let kind = "message";
      const data = [];
      for (const line of message.split("\n")) {
        if (line.startsWith("event: ")) kind = line.slice(7);
        else if (line.startsWith("data: ")) data.push(line.slice(6));
      }
      if (data.length) heard(kind, JSON.parse(data.join("\n")));
    }
  }
}

/** All pages of something, up to a number of items. */
export async function pages(path, name, signal, most = 2000) {
  const found = [];
  let after = 0;
  while (after !== null && found.length < most) {
    const page = await get(`${path}?limit=500&after=${after}`, signal);
    found.push(...page[name]);
    after = page.next;
  }
  return found;
}

export const wait = (ms, signal) => new Promise((done) => {
  const timer = setTimeout(done, ms);
  signal?.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
});

/** Do something now and every so often, while the page is seen, until the signal ends it. */
export async function every(ms, signal, work) {
  while (!signal.aborted) {
    if (!document.hidden) await work();
    await wait(ms, signal);
  }
}
