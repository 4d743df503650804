import {
  metricTypes,
  sortLabels,
  type MetricFamilies,
  type MetricFamily,
  type MetricType,
  type Sample,
} from "./metric-family.ts";

/** A text that is no Prometheus text format; the message names the line. */
export class TextFormatError extends Error {
  override readonly name = "TextFormatError";
  readonly code = "text_format_invalid";
}

type FamilyDraft = { name: string; type?: MetricType; help?: string; samples: Sample[] };

/**
 * Reads Prometheus's text format 0.0.4 strictly: every line ends with a line feed, every metric has at most one type, given
 * before its samples.
 *
 * @throws {TextFormatError} at the first line that is wrong.
 */
export function parseMetricsText(text: string): MetricFamilies {
  const lines = text.split("\n");
  const rest = lines.pop();
  const families = new Map<string, FamilyDraft>();
  for (const [index, line] of lines.entries()) {
    try {
      readLine(line.trimStart(), families);
    } catch (error) {
      if (!(error instanceof SampleError)) throw error;
      throw new TextFormatError(`text format parsing error in line ${index + 1}: ${error.message}`, { cause: error });
    }
  }
  if (rest !== "") {
    throw new TextFormatError(`text format parsing error in line ${lines.length + 1}: unexpected end of input stream`);
  }
  return new Map(
    [...families.values()]
      .filter((family) => family.samples.length > 0)
      .map((family) => [family.name, { type: "untyped", help: undefined, ...family }]),
  );
}

function readLine(line: string, families: Map<string, FamilyDraft>): void {
  if (line === "") return;
  if (line.startsWith("#")) return readComment(line, families);
  const sample = parseSample(line);
  openFamilyOfSample(sample.name, families).samples.push(sample);
}

function readComment(line: string, families: Map<string, FamilyDraft>): void {
  const [, keyword, name = "", text = ""] = /^#[ \t]+(HELP|TYPE)[ \t]+(\S+)(?:[ \t]+(.*))?$/.exec(line) ?? [];
  if (keyword === undefined) return;
  const family = openFamily(name, families);
  if (keyword === "HELP") {
    if (family.help !== undefined) throw new SampleError(`second HELP line for metric name "${name}"`);
    family.help = text.replace(/\\([\\n])/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
    return;
  }
  if (family.type !== undefined || family.samples.length > 0) {
    throw new SampleError(`second TYPE line for metric name "${name}", or TYPE reported after samples`);
  }
  const type = metricTypes.find((known) => known === text.trim().toLowerCase());
  if (type === undefined) throw new SampleError(`unknown metric type ${JSON.stringify(text.trim())}`);
  family.type = type;
}

/** Finds or adds the family of a sample's name, or the histogram or summary that the sample is part of. */
function openFamilyOfSample(sampleName: string, families: Map<string, FamilyDraft>): FamilyDraft {
  const [, base = "", part] = /^(.+)_(bucket|sum|count)$/.exec(sampleName) ?? [];
  const whole = families.get(base);
  const isPart = whole?.type === "histogram" || (whole?.type === "summary" && part !== "bucket");
  return isPart && whole !== undefined ? whole : openFamily(sampleName, families);
}

/** Finds or adds the family of a name. */
function openFamily(name: string, families: Map<string, FamilyDraft>): FamilyDraft {
  const known = families.get(name);
  if (known !== undefined) return known;
  const made: FamilyDraft = { name, samples: [] };
  families.set(name, made);
  return made;
}

/** Writes families in Prometheus's text format 0.0.4, in the order of their names. */
export function formatText(families: Iterable<MetricFamily>): string {
  const sorted = [...families].sort((a, b) => (a.name < b.name ? -1 : 1));
  return sorted.map(formatFamily).join("");
}

function formatFamily({ name, type, help, samples }: MetricFamily): string {
  const lines = help === undefined ? [] : [`# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`];
  lines.push(`# TYPE ${name} ${type}`, ...samples.map(formatSample), "");
  return lines.join("\n");
}

function formatSample({ name, labels, value }: Sample): string {
  const pairs = sortLabels(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${formatValue(value)}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function formatValue(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}

/** A line that is no sample; the message says why. */
class SampleError extends Error {
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
function parseSample(line: string): Sample {
  const name = findMatchAt(metricName, line, 0)?.[0];
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

/** Fills `labels` from the text between the braces; returns the position after them. */
function readLabels(line: string, start: number, metric: string, labels: Map<string, string>): number {
  let position = start;
  for (;;) {
    const end = findMatchAt(labelsEnd, line, position);
    if (end !== undefined) return position + end[0].length;
    const label = findMatchAt(labelStart, line, position);
    const name = label?.[1];
    if (label === undefined || name === undefined) throw new SampleError(`invalid label name for metric "${metric}"`);
    position += label[0].length;
    const text = findMatchAt(labelText, line, position);
    if (text === undefined) throw new SampleError(`invalid value of label "${name}" for metric "${metric}"`);
    if (labels.has(name)) throw new SampleError(`duplicate label names for metric "${metric}"`);
    labels.set(name, parseLabelText(text[1] ?? ""));
    position += text[0].length;
  }
}

function findMatchAt(pattern: RegExp, line: string, position: number): RegExpExecArray | undefined {
  pattern.lastIndex = position;
  return pattern.exec(line) ?? undefined;
}

function parseLabelText(text: string): string {
  return text.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
}

function parseValue(text: string): number | undefined {
  if (decimal.test(text)) return Number(text);
  if (/^nan$/i.test(text)) return Number.NaN;
  const sign = infinite.exec(text)?.[1];
  if (sign === undefined) return undefined;
  return sign === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}
