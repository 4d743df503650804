import { chartFrame, drawChart, formatValueText } from "./chart.js";
import { element, find, setText } from "./elements.js";
import { formatDuration, timeOfDay } from "./times.js";

/** The charts, all over the same time range. */
const drawn = [
  { id: "blocks-chart", title: "Blocks per minute", unit: "", column: "blocksPerMinute" },
  { id: "rpc-chart", title: "RPC latency", unit: "ms", column: "rpcMs" },
  {
    id: "requests-chart",
    title: "Requests per second",
    unit: "",
    column: "requestsPerSecond",
    also: "errorsPerSecond",
  },
  { id: "prune-chart", title: "Pruning backlog", unit: "versions", column: "pruneBacklog" },
];

/** Events marked in the charts. */
const marked = new Set(["restart", "roll-back", "hold", "upgrade"]);

/** The reader's selection: the range, and the time at the cursor. */
const view = { range: 0, atMs: undefined };
let frames;
let current;

/** Returns the index of the sample nearest to `ms`. */
function nearest(times, ms) {
  const after = times.findIndex((time) => time >= ms);
  if (after === -1) return times.length - 1;
  if (after === 0) return 0;
  return times[after] - ms < ms - times[after - 1] ? after : after - 1;
}

function move(ms) {
  view.atMs = ms;
  showCursor();
}

/** Handles the keys as on a slider: move by one sample, by ten samples, or to either end; Escape leaves. */
function moveByKey(event) {
  const { atMs: times } = current.columns;
  const at = view.atMs === undefined ? times.length - 1 : nearest(times, view.atMs);
  const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
  const ends = { Home: 0, End: times.length - 1 };
  if (event.key === "Escape") return move(undefined);
  const wanted = ends[event.key] ?? (moves[event.key] === undefined ? undefined : at + moves[event.key]);
  if (wanted === undefined || times.length === 0) return undefined;
  event.preventDefault();
  return move(times[Math.min(times.length - 1, Math.max(0, wanted))]);
}

function makeFrame(spec) {
  const frame = { ...chartFrame(spec), spec };
  frame.svg.addEventListener("pointermove", ({ offsetX }) => {
    const times = current?.columns.atMs ?? [];
    if (times.length > 0) move(times[nearest(times, frame.scales.timeAt(offsetX))]);
  });
  frame.svg.addEventListener("pointerleave", () => move(undefined));
  frame.handle.addEventListener("keydown", moveByKey);
  frame.handle.addEventListener("blur", () => move(undefined));
  return frame;
}

function rangeChoice({ name }, index) {
  const input = element("input", { type: "radio", name: "range", value: String(index) });
  input.checked = index === view.range;
  input.addEventListener("change", () => {
    view.range = index;
    view.atMs = undefined;
    drawAll();
  });
  return element("label", {}, input, element("span", {}, name));
}

/** Returns the events within half a sample interval of the given time. */
function happeningsAt(ms, { columns, outages, events }, nowMs) {
  const [first, second] = columns.atMs.slice(-2);
  const halfMs = Math.max(2_500, ((second ?? first) - first) / 2);
  const marks = events
    .filter(({ atMs }) => Math.abs(atMs - ms) <= halfMs)
    .map(({ kind, message }) => `${kind}: ${message}`);
  const outage = outages.find(({ fromMs, toMs = nowMs }) => fromMs <= ms + halfMs && ms - halfMs <= toMs);
  if (outage === undefined) return marks;
  const lasted = formatDuration((outage.toMs ?? nowMs) - outage.fromMs);
  return [...marks, `not serving from ${timeOfDay(outage.fromMs, { seconds: true })}, for ${lasted}`];
}

/** Writes the values at the cursor, or the latest values, into all captions. */
function showCursor() {
  const { columns, nowMs } = current;
  const index = view.atMs === undefined ? columns.atMs.length - 1 : nearest(columns.atMs, view.atMs);
  const atMs = columns.atMs[index];
  const time = atMs === undefined ? "" : timeOfDay(atMs, { seconds: true });
  for (const { spec, value, note, handle, scales } of frames) {
    const now = columns[spec.column][index];
    const also = spec.also === undefined ? undefined : columns[spec.also][index];
    const valueText = `${formatValueText(now, spec.unit)}${also ? `, ${formatValueText(also, "")} failed` : ""}`;
    setText(value, valueText);
    setText(note, view.atMs === undefined ? "" : `at ${time}`);
    handle.setAttribute("aria-valuemax", Math.max(0, columns.atMs.length - 1));
    handle.setAttribute("aria-valuenow", Math.max(0, index));
    handle.setAttribute("aria-valuetext", atMs === undefined ? "no values yet" : `${valueText} at ${time}`);
    scales.showCursor(view.atMs);
  }
  const happenings = view.atMs === undefined ? [] : happeningsAt(view.atMs, current, nowMs);
  setText(find("#at-cursor"), happenings.length === 0 ? "" : `${time}: ${happenings.join("; ")}`);
}

function drawAll() {
  const { history, events, nowMs } = current.shown;
  const { columns, spanMs } = history.ranges[view.range];
  const first = columns.atMs[0] ?? nowMs;
  // The few values of a newly started sidecar fill the chart; an empty hour would be less useful.
  const from = Math.max(nowMs - spanMs, Math.min(first, nowMs - 60_000));
  Object.assign(current, { columns, nowMs, outages: history.outages });
  current.events = events
    .filter(({ kind }) => marked.has(kind))
    .map(({ at, kind, message }) => ({ kind, message, atMs: Date.parse(at) }));
  for (const frame of frames) {
    const { column, also } = frame.spec;
    const pointsOf = (name) => columns.atMs.map((atMs, index) => ({ atMs, value: columns[name][index] }));
    const series = [
      ...(also === undefined ? [] : [{ points: pointsOf(also), kind: "failed" }]),
      { points: pointsOf(column), kind: "main" },
    ];
    frame.scales = drawChart(frame.svg, { from, to: nowMs, outages: history.outages, events: current.events, series });
  }
  showCursor();
}

export function showCharts(history, events, nowMs) {
  if (frames === undefined) {
    frames = drawn.map(makeFrame);
    find("#charts").append(...frames.map(({ figure }) => figure));
    find("#ranges").append(...history.ranges.map(rangeChoice));
    addEventListener("resize", drawAll);
  }
  current = { ...current, shown: { history, events, nowMs } };
  drawAll();
}
