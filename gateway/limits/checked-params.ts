import type { RpcError } from "../errors.ts";
import { asBinary } from "../json-rpc/read-answer.ts";
import { readObject } from "../json-rpc/read-object.ts";

/**
 * Outcome of a parameter check: the JSON text for the node, with the gas that a call specifies; the error for the client; or the parameters
 * for each piece of a range, whose result arrays are joined into the response.
 */
export type CheckedParams =
  | Readonly<{ kind: "pass"; params: string; gas?: number }>
  | Rejection
  | Readonly<{ kind: "split"; pieces: readonly string[] }>;

export type Rejection = Readonly<{ kind: "reject"; error: RpcError; limit: "blockRange" | "tracer" | undefined }>;

/** Limit on a block range: the cap, and the max range that is split into pieces. */
export type RangeLimit = Readonly<{ capBlocks: number; splitBlocks: number }>;

/** Accepts parameters in the form of this value, so that the node reads exactly what the gateway checked. */
export function accept(value: unknown): CheckedParams {
  return { kind: "pass", params: asBinary(JSON.stringify(value)) };
}

/** Rejects parameters. `limit` is the limit that they exceed, if they are otherwise valid. */
export function reject(error: RpcError, limit?: "blockRange" | "tracer"): Rejection {
  return { kind: "reject", error, limit };
}

/** Parses short parameters that the scanner has accepted as JSON. */
export function parseParams(params: string): readonly unknown[] {
  return parseText(params) as readonly unknown[];
}

/** Parses JSON text in a binary string. */
function parseText(json: string): unknown {
  return JSON.parse(Buffer.from(json, "latin1").toString("utf8"));
}

/** Max fields of a parsed object: parse time grows with the number of keys, and a few KiB can contain hundreds. */
export const maxFields = 64;

/**
 * Reads an object from a client: the JSON text of its values by name; the last of duplicate names counts. Returns undefined if the text is
 * not an object or has more than {@link maxFields} fields.
 */
export function readFields(json: string): ReadonlyMap<string, string> | undefined {
  const members = readObject(json, maxFields);
  return members && new Map(members.entries().map(([key, value]) => [parseText(`"${key}"`) as string, value]));
}

/**
 * Parses the value of a field: a string, a number, or a list of these; null counts as absent. A value that contains an object is replaced by
 * an empty object: it is invalid in any case and not worth parsing.
 */
export function parseFlatValue(json: string | undefined): unknown {
  if (json === undefined) return undefined;
  return json.includes("{") ? {} : (parseText(json) ?? undefined);
}

/** Max length of an option's value as text. */
const shortLength = 256;

/** Parses a short value; a longer one is replaced by an empty list, which is equally invalid. */
export function parseShortValue(json: string | undefined): unknown {
  if (json === undefined) return undefined;
  return json.length > shortLength ? [] : parseText(json);
}

/** Max length of a field name shown in an error. */
const shownNameLength = 50;

/** Returns the first unknown field, as JSON text for an error message, or undefined if all are known. */
export function findUnknownField(fields: ReadonlyMap<string, string>, known: ReadonlySet<string>): string | undefined {
  const name = fields.keys().find((field) => !known.has(field));
  return name === undefined ? undefined : JSON.stringify(asBinary(name.slice(0, shownNameLength)));
}
