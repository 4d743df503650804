import { duration } from "./times.js";

const shown = (value) => value.toLocaleString("en");

/** Time without a value from which a drawing's last one is called old; the sidecar asks oftener. */
const oldAfterMs = 120_000;

/** The index at which the run of one value begins that ends at `end`. */
function runStart(points, end) {
  const moved = points.findLastIndex(({ value }, index) => index < end && value !== points[end].value);
  return moved + 1;
}

/**
 * How a line last moved: for how long it has been standing still, and its speed in the time before that. A time in which it stood still
 * for `stillAfterMs` is no part of a speed.
 */
function movement(points, stillAfterMs) {
  const last = points.length - 1;
  const end = runStart(points, last);
  let start = end;
  while (start > 0) {
    const before = runStart(points, start - 1);
    if (before < start - 1 && points[start - 1].atMs - points[before].atMs >= stillAfterMs) {
      start -= 1;
      break;
    }
    start = before;
  }
  const spanMs = points[end].atMs - points[start].atMs;
  const perMinute = spanMs === 0 ? undefined : ((points[end].value - points[start].value) * 60_000) / spanMs;
  return { stillMs: points[last].atMs - points[end].atMs, spanMs, perMinute };
}

/** What a drawing says, in words. */
export function describe(lines, { nowMs, stillAfterMs }) {
  const points = lines[0].points;
  if (points.length < 2) return "There are too few values for a line.";
  const { stillMs, spanMs, perMinute } = movement(points, stillAfterMs);
  const amount = perMinute?.toLocaleString("en", { maximumSignificantDigits: 2 });
  const speed = perMinute === undefined ? undefined : `${amount} a minute over ${duration(spanMs)}`;
  const isStill = speed === undefined || stillMs >= stillAfterMs;
  const parts = [
    ...(isStill ? [`unchanged for ${duration(stillMs)}`] : []),
    ...(speed === undefined ? [] : [isStill ? `before that ${speed}` : speed]),
    ...(nowMs - points.at(-1).atMs < oldAfterMs ? [] : [`last seen ${duration(nowMs - points.at(-1).atMs)} ago`]),
    ...lines.slice(1).flatMap((line) => {
      const value = line.points.at(-1)?.value;
      return value === undefined ? [] : [`dashed: ${line.name} ${shown(value)}`];
    }),
  ];
  const text = parts.join("; ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
