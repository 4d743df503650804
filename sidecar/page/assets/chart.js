import { find, setText, svgElement } from "./elements.js";
import { describe } from "./chart-words.js";
import { timeOfDay } from "./times.js";

/** Measures of a drawing in pixels; its width is that of its place, so that text is as large on a phone as on a desk. */
const height = 170;
const [top, bottom, right] = [10, 24, 12];
const characterWidth = 7;

const shown = (value) => value.toLocaleString("en");

/** Whole steps of 1, 2 or 5 times a power of ten, three or four of them from below the lowest value to above the highest. */
function ticksOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const rough = Math.max(1, (high - low) / 3);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  const first = Math.floor(low / step) * step;
  const last = Math.max(Math.ceil(high / step) * step, first + 2 * step);
  return Array.from({ length: Math.round((last - first) / step) + 1 }, (_, index) => first + index * step);
}

function scale([from, to], [start, end]) {
  return (value) => start + ((end - start) * (value - from)) / Math.max(1, to - from);
}

function axes(ticks, times, { x, y, left, width }) {
  const levels = ticks.flatMap((value) => [
    svgElement("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
    svgElement("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, shown(value)),
  ]);
  const seconds = times.at(-1) - times[0] < 1_800_000;
  const anchors = ["start", "middle", "end"];
  const moments = times.map((ms, index) =>
    svgElement("text", { x: x(ms), y: height - 6, "text-anchor": anchors[index] }, timeOfDay(ms, { seconds })),
  );
  return [...levels, ...moments];
}

/**
 * Draws lines over one time axis that ends now: the first is the one that counts, the others are what it is compared with.
 *
 * @param selector of the figure
 * @param lines each `{ name, points: [{ atMs, value }] }`
 * @param options `nowMs`: the sidecar's time; `stillAfterMs`: how long a line does not move before it is called unchanged
 */
export function drawChart(selector, lines, { nowMs, stillAfterMs }) {
  const [svg, caption, words] = ["svg", "strong", "p"].map((name) => find(`${selector} ${name}`));
  const points = lines.flatMap((line) => line.points);
  const main = lines[0].points;
  setText(caption, main.length === 0 ? "not known yet" : shown(main.at(-1).value));
  const said = describe(lines, { nowMs, stillAfterMs });
  setText(words, said);
  svg.setAttribute("aria-label", `${lines[0].name}: ${said}`);
  const width = svg.clientWidth;
  if (main.length === 0) {
    svg.replaceChildren(svgElement("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "No values yet"));
    return;
  }
  const ticks = ticksOf(points.map(({ value }) => value));
  const left = 12 + characterWidth * Math.max(...ticks.map((value) => shown(value).length));
  const from = Math.min(...points.map(({ atMs }) => atMs));
  const to = Math.max(nowMs, ...points.map(({ atMs }) => atMs));
  const x = scale([from, to], [left, width - right]);
  const y = scale([ticks[0], ticks.at(-1)], [height - bottom, top]);
  const paths = lines.toReversed().map((line) => {
    const steps = line.points.map(({ atMs, value }) => `${x(atMs).toFixed(1)} ${y(value).toFixed(1)}`);
    return svgElement("path", { class: line === lines[0] ? "line" : "line compared", d: `M${steps.join("L")}` });
  });
  const last = main.at(-1);
  const dot = svgElement("circle", { cx: x(last.atMs), cy: y(last.value), r: 3.5 });
  const times = to > from ? [from, (from + to) / 2, to] : [from];
  svg.replaceChildren(...axes(ticks, times, { x, y, left, width }), ...paths, dot);
}
