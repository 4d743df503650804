import { isUtf8 } from "node:buffer";
import { locateByte, NotUtf8Error } from "#daemon/files/utf8.ts";
import { parseConfigText, type ConfigText } from "./config-text.ts";
import type { ParsedText, TextProblem } from "./parsed-text.ts";
import type { ConfigProblem, TextPosition } from "./problem.ts";
import { nodeReleases } from "../versions.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export type ConfigDocument = ParsedText &
  Readonly<{
    byteOrderMark: boolean;
    encoding: ConfigText["encoding"];
    value: JsonObject;
    chain: JsonObject;
  }>;

/** `finding` and `fix` are the parts of `message`. */
type ParseProblem = ConfigProblem & Readonly<{ finding: string; fix: string }>;

type ConfigParseResult = Readonly<{ ok: true; document: ConfigDocument } | { ok: false; problem: ParseProblem }>;

/** Parses a node.conf from bytes. It must be UTF-8 (except comments: no parser of a node reads them), in strict JSON, JSON with comments or JSON5, and contain one object that has a `chain` object. */
export function parseConfig(bytes: Uint8Array): ConfigParseResult {
  const zeroAt = bytes.indexOf(0);
  if (zeroAt !== -1 && isUtf8(bytes)) {
    const finding = "is not text: it contains a zero byte";
    return reject("NotText", finding, "restore it from a backup.", locateByte(bytes, zeroAt));
  }
  const read = parseConfigText(bytes);
  if (read instanceof NotUtf8Error) {
    const byte = `0x${bytes[read.offset]?.toString(16)}`;
    const fix = "convert it (`iconv -f latin1 -t utf8`, if it is Latin-1), or restore it from a backup.";
    return reject("NotText", `is not UTF-8 text (byte ${byte})`, fix, read.position);
  }
  const rewrite = "restore it from a backup, or write a JSON object with a chain object.";
  if (!read.ok) {
    if (Buffer.from(bytes).toString().trim() === "") return reject("Empty", "is empty", rewrite);
    const { reason, words, ...place } = read.problem;
    return reject(reason, ...explanations[reason](words), place);
  }
  const { parsed, byteOrderMark, encoding } = read;
  const { value } = parsed;
  if (!isJsonObject(value)) return reject("NotAnObject", `is ${describeType(value)}`, rewrite);
  const chain = value["chain"];
  if (!isJsonObject(chain)) {
    const [older] = chain === undefined ? findOutdatedForms(value) : [];
    if (older !== undefined) return reject("NoChain", `has no chain: ${older.key} ${older.message}`, older.fix);
    const found = chain === undefined ? "has no chain" : `has ${describeType(chain)} as chain`;
    const fix = "make chain an object with monitor_config and startup_config, or restore the file from a backup.";
    return reject("NoChain", found, fix);
  }
  return { ok: true, document: { ...parsed, byteOrderMark, encoding, value, chain } };
}

/** Encodes a document's changed text, with the byte order mark and the encoding of the original. */
export function encodeConfig(
  { byteOrderMark, encoding }: Pick<ConfigDocument, "byteOrderMark" | "encoding">,
  text: string,
): Uint8Array {
  return Buffer.from(`${byteOrderMark ? "\uFEFF" : ""}${text}`, encoding);
}

/** Returns whether a value is an object with keys (not an array or null). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function findConfValue(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  return isJsonObject(value) && Object.hasOwn(value, key) ? findConfValue(value[key], rest) : undefined;
}

function describeType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  const type = typeof value;
  return type === "object" ? "an object" : `a ${type}`;
}

const explanations: Readonly<Record<TextProblem["reason"], (words: string) => [finding: string, fix: string]>> = {
  Truncated: (words) => [
    `is incomplete JSON (${words}), perhaps partly written`,
    "correct it there, or write the whole file again.",
  ],
  TooDeep: (words) => [
    `is ${words}`,
    "check that it is a node's configuration file. Reduce the nesting, or restore it from a backup.",
  ],
};

function reject(
  reason: ConfigProblem["reason"],
  finding: string,
  fix: string,
  position: Partial<TextPosition> = {},
): ConfigParseResult {
  const message = `${finding.replace(/\.$/, "")}; ${fix}`;
  return { ok: false, problem: { reason, message, finding, fix, ...position } };
}

/** A top-level key that only earlier releases have, a message about the file, and how to update it. */
type OutdatedForm = Readonly<{ key: string; message: string; fix: string }>;

const inline = "move its inline keys into files, and set domain_key_path and stabilizing_key_path to their paths.";

/** Top-level keys in releases from about December 2025, before 0.11. */
const roots: Readonly<Record<string, Omit<OutdatedForm, "key">>> = {
  aldaba: {
    message: "is the root key that releases of about December 2025 used instead of chain.",
    fix: `rename it to chain; ${inline}`,
  },
  cubenet: {
    message: "is a root key of releases of about December 2025, which later ones ignore.",
    fix: "remove it, and start from the configuration file in the node's release.",
  },
};

const flat: Omit<OutdatedForm, "key"> = {
  message: "is at the top level, as in the monitor.conf of releases before 0.11, which contains only the metrics keys.",
  fix: "move the metrics keys into chain.monitor_config of the configuration file.",
};

/** Finds the top-level keys that only earlier releases have. Returns only the first of the metrics keys. Pure. */
export function findOutdatedForms(value: Readonly<Record<string, unknown>>): readonly OutdatedForm[] {
  const metricsKey = Object.keys(value).find((key) =>
    nodeReleases.some(
      ({ monitorKeys, instanceKey }) => key === instanceKey || Object.values(monitorKeys).includes(key),
    ),
  );
  const found = Object.entries(roots).flatMap(([key, form]) => (Object.hasOwn(value, key) ? [{ key, ...form }] : []));
  return metricsKey === undefined ? found : [...found, { key: metricsKey, ...flat }];
}
