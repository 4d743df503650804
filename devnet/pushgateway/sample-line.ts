import type { Sample } from "./metric-family.ts";

/** Why a line is no sample. */
export class SampleError extends Error {
  override readonly name = "SampleError";
  readonly code = "sample_invalid";
}

const metricName = /[a-zA-Z_:][a-zA-Z0-9_:]*/y;
const labelStart = /[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"/y;
const labelText = /((?:[^"\\\n]|\\[\\"n])*)"[ \t]*(,|(?=\}))/y;
const labelsEnd = /[ \t]*\}/y;
const valueAndTimestamp = /^[ \t]*([^ \t]+)(?:[ \t]+(.*))?$/;
const decimal = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const infinite = /^([+-]?)inf(inity)?$/i;

/**
 * Reads one sample of Prometheus's text format 0.0.4: name, labels in braces, value, and perhaps a timestamp.
 *
 * @throws {SampleError} saying what is wrong with it.
 */
export function parseSample(line: string): Sample {
  const name = matchAt(metricName, line, 0)?.[0];
  if (name === undefined) throw new SampleError(`invalid metric name at "${line.slice(0, 40)}"`);
  let position = name.length;
  while (line[position] === " " || line[position] === "\t") position += 1;
  const labels = new Map<string, string>();
  if (line[position] === "{") position = readLabels(line, position + 1, name, labels);
  const [, valueText = "", timestamp] = valueAndTimestamp.exec(line.slice(position)) ?? [];
  const value = parseValue(valueText);
  if (value === undefined) throw new SampleError(`expected float as value, got ${JSON.stringify(valueText)}`);
  if (timestamp !== undefined && !/^-?\d+$/.test(timestamp)) {
    throw new SampleError(`expected integer as timestamp, got ${JSON.stringify(timestamp)}`);
  }
  return { name, labels, value, hasTimestamp: timestamp !== undefined };
}

/** Fills `labels` from what stands between the braces, and returns where the line goes on after them. */
function readLabels(line: string, start: number, metric: string, labels: Map<string, string>): number {
  let position = start;
  for (;;) {
    const end = matchAt(labelsEnd, line, position);
    if (end !== undefined) return position + end[0].length;
    const label = matchAt(labelStart, line, position);
    const name = label?.[1];
    if (label === undefined || name === undefined) throw new SampleError(`invalid label name for metric "${metric}"`);
    position += label[0].length;
    const text = matchAt(labelText, line, position);
    if (text === undefined) throw new SampleError(`invalid value of label "${name}" for metric "${metric}"`);
    if (labels.has(name)) throw new SampleError(`duplicate label names for metric "${metric}"`);
    labels.set(name, unescape(text[1] ?? ""));
    position += text[0].length;
  }
}

function matchAt(pattern: RegExp, line: string, position: number): RegExpExecArray | undefined {
  pattern.lastIndex = position;
  return pattern.exec(line) ?? undefined;
}

function unescape(text: string): string {
  return text.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
}

function parseValue(text: string): number | undefined {
  if (decimal.test(text)) return Number(text);
  if (/^nan$/i.test(text)) return Number.NaN;
  const sign = infinite.exec(text)?.[1];
  if (sign === undefined) return undefined;
  return sign === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}
