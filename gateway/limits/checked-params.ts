import { asBinary } from "../json-rpc/read-answer.ts";
import { readObject } from "../json-rpc/read-object.ts";
import type { RpcError } from "../errors.ts";
import type { Method } from "../catalogue/method.ts";
import { buildCallKey } from "../json-rpc/call.ts";
import type { Policy } from "../policy.ts";
import type { Tier } from "../settings/policy.ts";
import type { ChainHead } from "../chain/head.ts";

/**
 * Outcome of a parameter check: the JSON text for the node, with the gas that a call specifies; the error for the client; or pieces of a
 * range, each with its own parameters, whose results (arrays) are joined into the response.
 */
export type CheckedParams =
  | Readonly<{ kind: "pass"; params: string; gas?: number }>
  | Readonly<{ kind: "refuse"; error: RpcError; limit: "blockRange" | "tracer" | undefined }>
  | Readonly<{ kind: "split"; pieces: readonly string[] }>;

/** Limit on a block range: its cap, and the max range that is split into pieces. */
export type RangeLimit = Readonly<{ capBlocks: number; splitBlocks: number }>;

/** Accepts parameters in the form of this value, so that the node reads exactly what the gateway checked. */
export function pass(value: unknown): CheckedParams {
  return { kind: "pass", params: asBinary(JSON.stringify(value)) };
}

/** Rejects parameters. `limit` is the limit that they exceed, if they are otherwise valid. */
export function refuse(error: RpcError, limit?: "blockRange" | "tracer"): CheckedParams {
  return { kind: "refuse", error, limit };
}

/** Parses short parameters that the scanner has accepted as JSON. */
export function parseParams(params: string): readonly unknown[] {
  return parseText(params) as readonly unknown[];
}

/** Parses JSON text in a binary string. */
function parseText(json: string): unknown {
  return JSON.parse(Buffer.from(json, "latin1").toString("utf8"));
}

/** Max fields of a parsed object. */
export const maxFields = 64;

/**
 * Reads an object from a client: the JSON text of its values by name; the last of duplicate names counts. Returns
 * undefined if the text is not an object or has more than {@link maxFields} fields: parse time grows with the number of
 * keys, and a few KiB can contain hundreds.
 */
export function readFields(json: string): ReadonlyMap<string, string> | undefined {
  const members = readObject(json, maxFields);
  return members && new Map(members.entries().map(([key, value]) => [parseText(`"${key}"`) as string, value]));
}

/**
 * Parses the value of a field: a string, a number, or a list of these. A value that contains an object is replaced by an empty object: it
 * is invalid in any case and not worth parsing.
 */
export function parseFlatValue(json: string | undefined): unknown {
  if (json === undefined) return undefined;
  return json.includes("{") ? {} : (parseText(json) ?? undefined);
}

/** Parses a short value; a longer one is replaced by an empty list, which is equally invalid. */
export function parseShortValue(json: string | undefined): unknown {
  if (json === undefined) return undefined;
  return json.length > shortLength ? [] : parseText(json);
}

/** Max length of an option's value as text. */
const shortLength = 256;

/** Max length of a field name shown in an error. */
const shownNameLength = 50;

/** Returns the first unknown field, as JSON text for an error message, or undefined if all are known. */
export function findUnknownField(fields: ReadonlyMap<string, string>, known: ReadonlySet<string>): string | undefined {
  const name = fields.keys().find((field) => !known.has(field));
  return name === undefined ? undefined : JSON.stringify(asBinary(name.slice(0, shownNameLength)));
}

/** Max number of cached checks, and max length of their parameters. */
const rememberedChecks = 1_000;
const rememberedLength = 1_024;

/** Inputs to a parameter check, besides the parameters. */
export type CheckBasis = Readonly<{ policy: Policy; head: ChainHead | undefined; tier: Tier; method: Method }>;

/** Outcome of a check; accepted parameters include their `buildCallKey`. */
export type CheckedRead =
  | Exclude<CheckedParams, { kind: "pass" }>
  | Readonly<{ kind: "pass"; params: string; gas?: number; key: string }>;

/** Runs a check, or returns the cached outcome of an identical one. */
export type RememberedChecks = (basis: CheckBasis, params: string, check: () => CheckedParams) => CheckedRead;

/**
 * Caches the outcomes of checks as long as the policy and the head are unchanged: polling clients repeat the same filter. Rejected
 * parameters are checked each time.
 */
export function rememberChecks(): RememberedChecks {
  let policyOfAll: Policy | undefined;
  let headOfAll: ChainHead | undefined;
  let count = 0;
  const known = new Map<Tier, Map<string, Map<string, CheckedRead>>>();
  return ({ policy, head, tier, method }, params, check) => {
    if (params.length > rememberedLength) return addKey(method, check());
    if (policy !== policyOfAll || head !== headOfAll || count >= rememberedChecks) {
      known.clear();
      policyOfAll = policy;
      headOfAll = head;
      count = 0;
    }
    const before = known.get(tier)?.get(method.name)?.get(params);
    if (before !== undefined) return before;
    const read = addKey(method, check());
    if (read.kind !== "pass") return read;
    const ofTier = known.get(tier) ?? new Map<string, Map<string, CheckedRead>>();
    const ofMethod = ofTier.get(method.name) ?? new Map<string, CheckedRead>();
    known.set(tier, ofTier.set(method.name, ofMethod.set(params, read)));
    count += 1;
    return read;
  };
}

function addKey(method: Method, checked: CheckedParams): CheckedRead {
  return checked.kind === "pass" ? { ...checked, key: buildCallKey(method.name, checked.params) } : checked;
}
