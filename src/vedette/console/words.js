// Numbers, moments and names as people read them.

const number = new Intl.NumberFormat("en");
const ago = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "short" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

export const count = (value) => number.format(value);
export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

export function share(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0 %";
  const percent = value * 100;
  return `${percent >= 10 ? percent.toFixed(0) : percent >= 1 ? percent.toFixed(1) : percent >= 0.01 ? percent.toFixed(2) : "< 0.01"} %`;
}

export function when(moment) {
  if (!moment) return "never";
  const seconds = (new Date(moment) - Date.now()) / 1000;
  if (Math.abs(seconds) < 5) return "just now";
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? UNITS.at(-1);
  return ago.format(Math.round(seconds / size), unit);
}

/** Why a webhook fails, as the service says it in a word. */
const ERRORS = {
  unreachable: "nothing there answers",
  "no address": "its name is not known, or leads where webhooks may not go",
  certificate: "its certificate does not hold for its name",
};
export const whyFailing = (error) => (ERRORS[error] ? `${ERRORS[error]} (${error})` : error);

export const clock = (moment) => new Date(moment).toLocaleTimeString("en-GB");
export const exactly = (moment) => (moment ? new Date(moment).toLocaleString("en-GB", { timeZoneName: "short" }) : "");
/** How many on average, of things that may be several each. */
export const ratio = (value) => (value === null || value === undefined ? "–" : value === 0 ? "0" : value.toFixed(value < 0.1 ? 3 : 2));

/** An event in a line: first what tells it from others, so not the id and the time, which all of them have. */
export function inBrief(event) {
  if (event === null || typeof event !== "object" || Array.isArray(event)) return JSON.stringify(event);
  const { id, time, ...rest } = event;
  return JSON.stringify(Object.keys(rest).length ? rest : event);
}

export const cut = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

/** What a subscription is called: whoever it is for, else the beginning of its id. */
export const named = (one) => one.subscriber ?? cut(one.id ?? one.subscription, 12);
