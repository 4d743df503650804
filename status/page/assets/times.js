import { element } from "./elements.js";

/** ISO order for date and time, in the reader's own time zone: there is no doubt about which number is the month. */
const format = (options) => new Intl.DateTimeFormat("sv-SE", options);
const clock = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const clockMinutes = format({ hour: "2-digit", minute: "2-digit" });
const day = format({ year: "numeric", month: "2-digit", day: "2-digit" });

/** Formats a time of day; with seconds where they matter. */
export function timeOfDay(ms, { seconds }) {
  return (seconds ? clock : clockMinutes).format(ms);
}

/** Formats a time, with its date unless it is today's. */
export function formatMoment(ms, nowMs) {
  const today = day.format(ms) === day.format(nowMs);
  return today ? clock.format(ms) : `${day.format(ms)} ${clock.format(ms)}`;
}

/** Formats a duration in one unit. */
export function formatDuration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

/** Formats a duration in two units where both matter: `1 min 15 s`. */
export function longDuration(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [days, hours] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600) % 24];
  const [minutes, rest] = [Math.floor(seconds / 60) % 60, seconds % 60];
  const units = [
    [days, days === 1 ? "day" : "days"],
    [hours, "h"],
    [minutes, "min"],
    [rest, "s"],
  ];
  const first = units.findIndex(([count]) => count > 0);
  if (first === -1) return "0 s";
  const shown = units.slice(first, first + 2).filter(([count]) => count > 0);
  return shown.map(([count, unit]) => `${count} ${unit}`).join(" ");
}

/** Creates a time element that {@link refreshTimes} keeps up to date: `at` shows "… ago", `since` shows "for …", `age` shows the age alone. */
export function timeElement(iso, kind) {
  return element("time", { datetime: iso, "data-kind": kind });
}

/** Updates all time elements; `nowMs` is the sidecar's own time. */
export function refreshTimes(nowMs) {
  const formats = {
    at: (ms, age) => `${formatMoment(ms, nowMs)}, ${age} ago`,
    since: (ms, age) => `since ${formatMoment(ms, nowMs)}, for ${age}`,
    earlier: (ms, age) => `since before ${formatMoment(ms, nowMs)}, for more than ${age}`,
    clock: (ms) => formatMoment(ms, nowMs),
    age: (_, age) => `${age} ago`,
  };
  for (const time of document.querySelectorAll("time")) {
    const ms = Date.parse(time.dateTime);
    const text = formats[time.dataset.kind](ms, formatDuration(nowMs - ms));
    if (time.textContent !== text) time.textContent = text;
  }
}
