import type { DrawnRange, DrawnSeries, Mark } from "./dashboard-data.ts";
import { escapeText } from "./escaped-text.ts";
import { findScale } from "./value-words.ts";

/** Colours of lines, in the order of the series. */
export const lineColors = [
  "#2f6fd6",
  "#d9730d",
  "#2e8b57",
  "#9b51c9",
  "#c93c37",
  "#0e8a9e",
  "#a6790b",
  "#64707d",
] as const;

/** Colours by Grafana's names for marks and states. */
export const namedColors: Readonly<Record<string, string>> = {
  green: "#2e8b57",
  red: "#c93c37",
  gray: "#9aa5b1",
  orange: "#d9730d",
  blue: "#2f6fd6",
};

/** Data of one chart, and its size in pixels. */
export type LineChart = Readonly<{
  unit: string;
  series: readonly DrawnSeries[];
  range: DrawnRange;
  marks: readonly Mark[];
  threshold: number | undefined;
  width: number;
  height: number;
}>;

const [top, bottom, left, right] = [8, 20, 70, 10];
const ticksAbout = 3;

/** Draws series as lines over time, as SVG. */
export function renderLineChart(chart: LineChart): string {
  const { width, height, range, unit } = chart;
  const ticks = chooseTicks(chart);
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)];
  const x = (at: number) => left + ((width - left - right) * (at - range.from)) / (range.to - range.from);
  const y = (value: number) => top + ((height - top - bottom) * (high - value)) / (high - low);
  const word = findScale(unit, Math.max(Math.abs(low), Math.abs(high)));
  const grid = ticks.map((tick) => {
    const label = `${(tick / word.factor).toLocaleString("en", { maximumFractionDigits: 4 })}${word.word}`;
    return `<path class="grid" d="M${left} ${y(tick).toFixed(1)}H${width - right}"/><text x="${left - 6}" y="${(y(tick) + 4).toFixed(1)}" text-anchor="end">${escapeText(label)}</text>`;
  });
  const lines = chart.series.map(({ values }, place) => renderLine(values, { x, y, range, color: pickColor(place) }));
  const { threshold } = chart;
  const limit =
    threshold === undefined || threshold < low || threshold > high
      ? ""
      : `<path class="threshold" d="M${left} ${y(threshold).toFixed(1)}H${width - right}"/>`;
  return `<svg width="${width}" height="${height}">${grid.join("")}${renderTimes(range, x, height)}${renderMarks(chart, x)}${limit}${lines.join("")}</svg>`;
}

/** Picks a series' colour by its position. */
export function pickColor(place: number): string {
  return lineColors[place % lineColors.length] ?? lineColors[0];
}

/** Chooses round steps that include every value; starting at zero unless the values are far from it. */
function chooseTicks({ series, unit, threshold }: LineChart): readonly number[] {
  const values = series.flatMap((one) => one.values.filter((value) => value !== null));
  const most = values.reduce((found, value) => Math.max(found, value), -Infinity);
  const least = values.reduce((found, value) => Math.min(found, value), Infinity);
  const reached = threshold !== undefined && threshold <= most * 2 ? Math.max(most, threshold) : most;
  const low = least >= 0 && (least < reached * 0.6 || least === reached) ? 0 : least;
  const high = reached > low ? reached : low + 1;
  const { factor } = findScale(unit, Math.max(Math.abs(low), Math.abs(high)));
  const step = chooseStep((high - low) / factor / ticksAbout) * factor;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
}

function chooseStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10) * power;
}

type Place = (value: number) => number;

function renderLine(
  values: DrawnSeries["values"],
  { x, y, range, color }: Readonly<{ x: Place; y: Place; range: DrawnRange; color: string }>,
): string {
  let isOpen = false;
  const path = values.map((value, index) => {
    if (value === null) {
      isOpen = false;
      return "";
    }
    const command = isOpen ? "L" : "M";
    isOpen = true;
    return `${command}${x(range.from + index * range.stepSeconds).toFixed(1)} ${y(value).toFixed(1)}`;
  });
  return `<path class="line" stroke="${color}" d="${path.join("")}"/>`;
}

function renderTimes({ from, to }: DrawnRange, x: Place, height: number): string {
  const first = Math.ceil(from / 60) * 60;
  const times = Array.from({ length: Math.floor((to - first) / 60) + 1 }, (_, index) => first + index * 60);
  return times
    .map((at) => {
      const label = new Date(at * 1_000).toISOString().slice(11, 16);
      return `<path class="grid" d="M${x(at).toFixed(1)} ${top}V${height - bottom}"/><text x="${x(at).toFixed(1)}" y="${height - 5}" text-anchor="middle">${label}</text>`;
    })
    .join("");
}

function renderMarks({ marks, height }: LineChart, x: Place): string {
  return marks
    .map(({ at, color }) => {
      const fill = namedColors[color] ?? color;
      return `<path class="mark" stroke="${fill}" d="M${x(at).toFixed(1)} ${top}V${height - bottom}"/><path fill="${fill}" d="M${(x(at) - 5).toFixed(1)} ${height - bottom + 5}h10l-5 -6z"/>`;
    })
    .join("");
}
