import { decodeUtf8, locateByte, NotUtf8Error } from "#daemon/files/utf8.ts";
import { parseText, type ParsedText, type TextProblem } from "./parsed-text.ts";
import type { ConfigProblem, TextPosition } from "./problem.ts";
import { nodeReleases } from "../versions.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export type ConfigDocument = ParsedText &
  Readonly<{
    byteOrderMark: boolean;
    value: JsonObject;
    chain: JsonObject;
  }>;

type ConfigParseResult = Readonly<{ ok: true; document: ConfigDocument } | { ok: false; problem: ConfigProblem }>;

/** Parses a node.conf from bytes. It must be UTF-8, in strict JSON, JSON with comments or JSON5, and contain one object that has a `chain` object. */
export function parseConfig(bytes: Uint8Array): ConfigParseResult {
  const decoded = readText(bytes);
  if (typeof decoded !== "string") {
    const message = "is not UTF-8 text; write JSON, or restore the file from a backup.";
    return { ok: false, problem: { reason: "NotText", message, ...decoded } };
  }
  const byteOrderMark = decoded.startsWith("\uFEFF");
  const text = byteOrderMark ? decoded.slice(1) : decoded;
  if (text.trim() === "") return reject("Empty", "is empty; expected a JSON object with a chain object.");
  const read = parseText(text);
  if (!read.ok) {
    const { reason, words, ...place } = read.problem;
    return { ok: false, problem: { reason, message: messages[reason](words), ...place } };
  }
  const { parsed } = read;
  const { value } = parsed;
  if (!isJsonObject(value)) {
    return reject("NotAnObject", `is ${describeType(value)}; expected a JSON object with a chain object.`);
  }
  const chain = value["chain"];
  if (!isJsonObject(chain)) {
    const [older] = chain === undefined ? findOlderForms(value) : [];
    if (older !== undefined)
      return reject("NoChain", `has no chain: ${older.key} ${older.message} To use it, ${older.fix}`);
    const found = chain === undefined ? "has no chain" : `has ${describeType(chain)} as chain`;
    return reject("NoChain", `${found}; expected chain to be an object with monitor_config and startup_config.`);
  }
  return { ok: true, document: { ...parsed, byteOrderMark, value, chain } };
}

/** Encodes a document's changed text, with the byte order mark of the original. */
export function encodeConfig({ byteOrderMark }: Pick<ConfigDocument, "byteOrderMark">, text: string): Uint8Array {
  return Buffer.from(`${byteOrderMark ? "\uFEFF" : ""}${text}`);
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

/** Returns the text, or the position of the first byte that is not UTF-8 text. */
function readText(bytes: Uint8Array): string | TextPosition {
  try {
    const text = decodeUtf8(bytes);
    const zeroAt = bytes.indexOf(0);
    return zeroAt === -1 ? text : locateByte(bytes, zeroAt);
  } catch (error) {
    if (error instanceof NotUtf8Error) return error.position;
    throw error;
  }
}

const messages: Readonly<Record<TextProblem["reason"], (words: string) => string>> = {
  Truncated: (words) => `is incomplete JSON (${words}), perhaps partly written: write the whole file again.`,
  TooDeep: (words) =>
    `is ${words}; check that it is a node's configuration file. Reduce the nesting, or restore it from a backup.`,
};

function reject(reason: ConfigProblem["reason"], message: string): ConfigParseResult {
  return { ok: false, problem: { reason, message } };
}

/** A top-level key that only earlier releases have, a message about the file, and how to update it. */
type OlderForm = Readonly<{ key: string; message: string; fix: string }>;

const inline = "move its inline keys into files, and set domain_key_path and stabilizing_key_path to their paths.";

/** Top-level keys in releases from about December 2025, before 0.11. */
const roots: Readonly<Record<string, Omit<OlderForm, "key">>> = {
  aldaba: {
    message: "is the root key that releases of about December 2025 used instead of chain.",
    fix: `rename it to chain; ${inline}`,
  },
  cubenet: {
    message: "is a root key of releases of about December 2025, which later ones ignore.",
    fix: "remove it, and start from the configuration file in the node's release.",
  },
};

const flat: Omit<OlderForm, "key"> = {
  message: "is at the top level, as in the monitor.conf of releases before 0.11, which contains only the metrics keys.",
  fix: "move the metrics keys into chain.monitor_config of the configuration file.",
};

/** Finds the top-level keys that only earlier releases have. Returns only the first of the metrics keys. Pure. */
export function findOlderForms(value: Readonly<Record<string, unknown>>): readonly OlderForm[] {
  const metricsKey = Object.keys(value).find((key) =>
    nodeReleases.some(
      ({ monitorKeys, instanceKey }) => key === instanceKey || Object.values(monitorKeys).includes(key),
    ),
  );
  const found = Object.entries(roots).flatMap(([key, form]) => (Object.hasOwn(value, key) ? [{ key, ...form }] : []));
  return metricsKey === undefined ? found : [...found, { key: metricsKey, ...flat }];
}
