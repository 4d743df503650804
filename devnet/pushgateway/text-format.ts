import {
  metricTypes,
  sortedLabels,
  type MetricFamilies,
  type MetricFamily,
  type MetricType,
  type Sample,
} from "./metric-family.ts";
import { parseSample, SampleError } from "./sample-line.ts";

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
export function parseText(text: string): MetricFamilies {
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
  familyOf(sample.name, families).samples.push(sample);
}

function readComment(line: string, families: Map<string, FamilyDraft>): void {
  const [, keyword, name = "", text = ""] = /^#[ \t]+(HELP|TYPE)[ \t]+(\S+)(?:[ \t]+(.*))?$/.exec(line) ?? [];
  if (keyword === undefined) return;
  const family = draft(name, families);
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

/** A sample belongs to the family of its name, or to the histogram or summary whose part it is. */
function familyOf(sampleName: string, families: Map<string, FamilyDraft>): FamilyDraft {
  const [, base = "", part] = /^(.+)_(bucket|sum|count)$/.exec(sampleName) ?? [];
  const whole = families.get(base);
  const isPart = whole?.type === "histogram" || (whole?.type === "summary" && part !== "bucket");
  return isPart && whole !== undefined ? whole : draft(sampleName, families);
}

function draft(name: string, families: Map<string, FamilyDraft>): FamilyDraft {
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
  const pairs = sortedLabels(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
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
