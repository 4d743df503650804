import { element } from "./elements.js";

/** ISO's order of date and time in the reader's own time zone: nobody has to guess at night which number is the month. */
const format = (options) => new Intl.DateTimeFormat("sv-SE", options);
const clock = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const clockMinutes = format({ hour: "2-digit", minute: "2-digit" });
const day = format({ year: "numeric", month: "2-digit", day: "2-digit" });

/** A time of day; with seconds where they matter. */
export function timeOfDay(ms, { seconds }) {
  return (seconds ? clock : clockMinutes).format(ms);
}

/** A time, with its date when it is not today's. */
function moment(ms, nowMs) {
  const today = day.format(ms) === day.format(nowMs);
  return today ? clock.format(ms) : `${day.format(ms)} ${clock.format(ms)}`;
}

/** How long something took or has been so, in one unit. */
export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

/** A time that {@link refreshTimes} keeps up to date: `at` reads "… ago", `since` reads "for …". */
export function timeElement(iso, kind) {
  return element("time", { datetime: iso, "data-kind": kind });
}

/** Writes all times anew; `nowMs` is the sidecar's own time. */
export function refreshTimes(nowMs) {
  for (const time of document.querySelectorAll("time")) {
    const ms = Date.parse(time.dateTime);
    const age = duration(nowMs - ms);
    const text =
      time.dataset.kind === "since" ? `since ${moment(ms, nowMs)}, for ${age}` : `${moment(ms, nowMs)}, ${age} ago`;
    if (time.textContent !== text) time.textContent = text;
  }
}
