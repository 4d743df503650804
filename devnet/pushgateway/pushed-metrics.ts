/** A rejected push; the message is the response body, `isFull` means that the limits are exhausted. */
export class PushError extends Error {
  override readonly name = "PushError";
  readonly isFull: boolean;

  constructor(message: string, isFull = false) {
    super(message);
    this.isFull = isFull;
  }
}

/** Labels by name; values in their escaped form, as between the quotes. */
export type Labels = ReadonlyMap<string, string>;

/** One metric: its comments, and values by name and labels in their written form. */
export type Family = { type: string; help: string | undefined; samples: Map<string, string> };

export type Families = ReadonlyMap<string, Family>;

/**
 * Parses a grouping key from the path after `/metrics/`: `job/<job>{/<label>/<value>}`, where `<label>@base64` has its value in base64url
 * (Pushgateway's README, "API").
 *
 * @throws {PushError | URIError} for a path that is not a grouping key.
 */
export function parseGroupingKey(path: string): Labels {
  const parts = decodeURIComponent(path).split("/");
  if (parts.length % 2 === 1)
    throw new PushError(`odd number of components in label string ${parts.slice(2).join("/")}`);
  const labels = new Map<string, string>();
  for (let index = 0; index < parts.length; index += 2) {
    const [name = "", coding] = (parts[index] ?? "").split("@");
    const text = parts[index + 1] ?? "";
    if (!/^(?!__)[a-z_]\w*$/i.test(name)) throw new PushError(`improper label name ${JSON.stringify(name)}`);
    if (name === "job" && index > 0) continue;
    labels.set(name, escape(coding === "base64" ? Buffer.from(text, "base64url").toString() : text));
  }
  if (labels.get("job") === "") throw new PushError("job name is required");
  return labels;
}

function escape(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

const sampleShape = /^([a-z_:][\w:]*)[ \t]*(?:\{(.*)\}[ \t]*|[ \t])([^ \t}]+)(?:[ \t]+(\S+))?$/i;
const labelShape = /[ \t]*([a-z_]\w*)[ \t]*=[ \t]*"((?:[^"\\]|\\[\\"n])*)"[ \t]*(?:,|$)/iy;
const valueShape = /^(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|[+-]?inf)$/i;
const commentShape = /^#[ \t]+(HELP|TYPE)[ \t]+(\S+)[ \t]*(.*)$/;

/**
 * Parses Prometheus's text format 0.0.4 as a group's metrics: the key's labels override those of the samples; `instance` is present even
 * when empty.
 *
 * @throws {PushError} with the first invalid line.
 */
export function parsePush(text: string, key: Labels): Families {
  const families = new Map<string, Family>();
  const open = (name: string) => {
    const family = families.get(name) ?? { type: "untyped", help: undefined, samples: new Map<string, string>() };
    families.set(name, family);
    return family;
  };
  for (const [index, line] of text.split("\n").entries()) {
    const [, keyword, name = "", rest = ""] = commentShape.exec(line) ?? [];
    if (keyword === "TYPE") open(name).type = rest;
    if (keyword === "HELP") open(name).help = rest;
    if (line.trim() === "" || line.startsWith("#")) continue;
    const [, sample = "", labels = "", value = "", timestamp] = sampleShape.exec(line.trim()) ?? [];
    const own = parseLabels(labels);
    if (own === undefined || !valueShape.test(value))
      throw new PushError(`text format parsing error in line ${index + 1}`);
    if (timestamp !== undefined) throw createInconsistency("pushed metrics must not have timestamps");
    const reserved = [...own.keys()].find((label) => label.startsWith("__"));
    if (reserved !== undefined)
      throw createInconsistency(`metric ${sample} has a label with an invalid name: ${reserved}`);
    const base = families.get(sample.replace(/_(?:bucket|sum|count)$/, ""));
    const { samples } = /^(?:histogram|summary)$/.test(base?.type ?? "") ? (base ?? open(sample)) : open(sample);
    const written = formatSample(sample, new Map([["instance", ""], ...own, ...key]));
    if (samples.has(written)) throw createRepetition(sample);
    samples.set(written, value);
  }
  return new Map([...families].filter(([, { samples }]) => samples.size > 0));
}

/** Rejects metrics that another group has with another type or the same labels. */
export function requireConsistent(families: Families, others: readonly Families[]): void {
  for (const [name, { type, samples }] of families) {
    for (const same of others.flatMap((other) => other.get(name) ?? [])) {
      if (same.type !== type)
        throw createInconsistency(`metric family ${name} has type ${type} but should have ${same.type}`);
      if ([...samples.keys()].some((sample) => same.samples.has(sample))) throw createRepetition(name);
    }
  }
}

function createRepetition(name: string): PushError {
  return createInconsistency(`metric ${name} was collected before with the same name and label values`);
}

function createInconsistency(reason: string): PushError {
  return new PushError(`pushed metrics are invalid or inconsistent with existing metrics: ${reason}`);
}

/** Parses the labels between the braces; returns undefined if the syntax is invalid. */
function parseLabels(text: string): Labels | undefined {
  const labels = new Map<string, string>();
  labelShape.lastIndex = 0;
  for (let at = 0; text.slice(at).trim() !== ""; at = labelShape.lastIndex) {
    const [, name, value] = labelShape.exec(text) ?? [];
    if (name === undefined || value === undefined || labels.has(name)) return undefined;
    labels.set(name, value);
  }
  return labels;
}

/** Formats a sample without its value, with its labels sorted by name. */
export function formatSample(name: string, labels: Labels): string {
  const pairs = [...labels].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `${name}{${pairs.map(([label, value]) => `${label}="${value}"`).join(",")}}`;
}

/** Formats the metrics of all groups in Prometheus's text format 0.0.4, sorted by name. */
export function formatFamilies(groups: readonly Families[]): string {
  const names = [...new Set(groups.flatMap((families) => [...families.keys()]))].toSorted();
  let text = "";
  for (const name of names) {
    const same = groups.flatMap((families) => families.get(name) ?? []);
    const { help, type } = same[0] ?? { help: undefined, type: "untyped" };
    if (help !== undefined) text += `# HELP ${name} ${help}\n`;
    text += `# TYPE ${name} ${type}\n`;
    for (const { samples } of same) for (const [sample, value] of samples) text += `${sample} ${value}\n`;
  }
  return text;
}
