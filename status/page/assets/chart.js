import { element, svgElement } from "./elements.js";
import { timeOfDay } from "./times.js";

/** Dimensions of a chart in pixels. The width is that of its container, so that text is as large on a phone as on a desktop. */
const height = 132;
const [top, bottom, left, right] = [12, 22, 46, 10];

const shown = (value) => value.toLocaleString("en", { maximumSignificantDigits: 3 });
const short = (value) =>
  value.toLocaleString("en", { notation: value >= 10_000 ? "compact" : "standard", maximumSignificantDigits: 3 });

/** Formats a value with its unit. */
export function formatValueText(value, unit) {
  return value === null || value === undefined ? "not known" : `${shown(value)}${unit === "" ? "" : ` ${unit}`}`;
}

/** Returns zero and two or three whole steps of 1, 2 or 5 times a power of ten, up to above the highest value. */
function ticksOf(values) {
  const high = Math.max(1, ...values) * 1.05;
  const power = 10 ** Math.floor(Math.log10(high / 2));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate * 3 >= high);
  return Array.from({ length: Math.ceil(high / step) + 1 }, (_, index) => index * step);
}

/** Splits values at gaps into lines to draw; a single value is a dot. */
function segmentsOf(points) {
  const segments = [];
  let isOpen = false;
  for (const point of points) {
    if (point.value === null) {
      isOpen = false;
      continue;
    }
    if (isOpen) segments.at(-1).push(point);
    else segments.push([point]);
    isOpen = true;
  }
  return segments;
}

/** Returns a chart's scales; all charts on a page share the time scale. */
function scalesOf({ from, to, width, ticks }) {
  const x = (ms) => left + ((width - left - right) * (ms - from)) / Math.max(1, to - from);
  const y = (value) => height - bottom - ((height - bottom - top) * value) / ticks.at(-1);
  const timeAt = (px) => from + ((to - from) * (px - left)) / Math.max(1, width - left - right);
  return { x, y, timeAt };
}

function axes({ x, y }, { from, to, ticks, width }) {
  const levels = ticks.flatMap((value) => [
    svgElement("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
    svgElement("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)),
  ]);
  const seconds = to - from < 300_000;
  const times = [
    [from, "start"],
    [(from + to) / 2, "middle"],
    [to, "end"],
  ].map(([ms, anchor]) =>
    svgElement("text", { x: x(ms), y: height - 5, "text-anchor": anchor }, timeOfDay(ms, { seconds })),
  );
  return [...levels, ...times];
}

/** Returns bands that mark the node's outages. */
function bands({ x }, { from, to, outages, width }) {
  return outages.flatMap(({ fromMs, toMs = to }) => {
    const [start, end] = [Math.max(left, x(fromMs)), Math.min(width - right, x(toMs))];
    if (toMs < from || end < start) return [];
    const size = { x: start, y: top, width: Math.max(2, end - start), height: height - bottom - top };
    const band = svgElement("rect", { class: "band", ...size });
    if (toMs !== to) return [band];
    const label = `down since ${timeOfDay(fromMs, { seconds: true })}`;
    return [
      band,
      svgElement("text", { class: "since", x: width - right - 4, y: top + 14, "text-anchor": "end" }, label),
    ];
  });
}

/** Returns a marker for each restart: a dashed line with a small flag. */
function marks({ x }, { from, to, events }) {
  const seen = new Set();
  return events.flatMap(({ atMs }) => {
    const place = Math.round(x(atMs) / 3);
    if (atMs < from || atMs > to || seen.has(place)) return [];
    seen.add(place);
    const line = { class: "event", x1: x(atMs), x2: x(atMs), y1: top, y2: height - bottom };
    return [svgElement("line", line), svgElement("path", { class: "flag", d: `M${x(atMs) - 4} ${top - 7}h8l-4 7z` })];
  });
}

function lines({ x, y }, series) {
  return series.flatMap(({ points, kind }) =>
    segmentsOf(points).map((segment) => {
      if (segment.length === 1) {
        return svgElement("circle", { class: kind, cx: x(segment[0].atMs), cy: y(segment[0].value), r: 2 });
      }
      const steps = segment.map(({ atMs, value }) => `${x(atMs).toFixed(1)} ${y(value).toFixed(1)}`);
      return svgElement("path", { class: `line ${kind}`, d: `M${steps.join("L")}` });
    }),
  );
}

/**
 * Draws series along one time axis.
 *
 * @param svg target element
 * @param view `{ from, to, outages, events, series: [{ points: [{ atMs, value }], kind }] }`; null values are gaps
 * @returns the scales, for a cursor
 */
export function drawChart(svg, view) {
  const width = Math.max(200, svg.clientWidth);
  const values = view.series.flatMap(({ points }) => points.map(({ value }) => value ?? 0));
  const ticks = ticksOf(values);
  const scales = scalesOf({ ...view, width, ticks });
  const parts = { ...view, ticks, width };
  const cursor = svgElement("line", { class: "cursor", y1: top, y2: height - bottom, visibility: "hidden" });
  svg.setAttribute("height", height);
  svg.replaceChildren(
    ...bands(scales, parts),
    ...axes(scales, parts),
    ...lines(scales, view.series),
    ...marks(scales, parts),
    cursor,
  );
  return { ...scales, showCursor: (ms) => moveCursor(cursor, ms === undefined ? undefined : scales.x(ms)) };
}

function moveCursor(cursor, x) {
  cursor.setAttribute("visibility", x === undefined ? "hidden" : "visible");
  if (x === undefined) return;
  cursor.setAttribute("x1", x);
  cursor.setAttribute("x2", x);
}

/** Returns a chart's frame: its title, its value, and the element that receives keyboard input. */
export function chartFrame({ id, title }) {
  const svg = svgElement("svg", { "aria-hidden": "true" });
  const handle = element(
    "div",
    {
      className: "handle",
      role: "slider",
      tabindex: "0",
      "aria-label": title,
      "aria-valuemin": "0",
      "aria-valuenow": "0",
    },
    svg,
  );
  const value = element("strong", {});
  const note = element("span", { className: "quiet" });
  const figure = element(
    "figure",
    { id },
    element("figcaption", {}, element("span", {}, title, " ", note), value),
    handle,
  );
  return { figure, svg, handle, value, note };
}
