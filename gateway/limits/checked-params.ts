import { asBinary } from "../json-rpc/read-answer.ts";
import { readObject } from "../json-rpc/read-object.ts";
import type { RpcError } from "../errors.ts";
import type { Method } from "../catalogue/method.ts";
import { buildCallKey } from "../json-rpc/call.ts";
import type { Policy } from "../policy.ts";
import type { Tier } from "../settings/policy.ts";
import type { ChainHead } from "../chain/head.ts";

/**
 * Outcome of a check of parameters: the JSON text that goes to the node, with the gas that a call names, the error that goes to the client, or pieces of a
 * range, each with its own parameters, whose results (arrays) make the answer when joined.
 */
export type CheckedParams =
  | Readonly<{ kind: "pass"; params: string; gas?: number }>
  | Readonly<{ kind: "refuse"; error: RpcError; limit: "blockRange" | "tracer" | undefined }>
  | Readonly<{ kind: "split"; pieces: readonly string[] }>;

/** Limit of a block range: its cap, and the largest range that is split into pieces. */
export type RangeLimit = Readonly<{ capBlocks: number; splitBlocks: number; errorCode: number }>;

/** Lets parameters pass as this value; what the gateway checked is what the node reads. */
export function pass(value: unknown): CheckedParams {
  return { kind: "pass", params: asBinary(JSON.stringify(value)) };
}

/** Refuses parameters; `limit` names the limit that they exceed, if they are good but for that. */
export function refuse(error: RpcError, limit?: "blockRange" | "tracer"): CheckedParams {
  return { kind: "refuse", error, limit };
}

/** Parses parameters that the scanner has found to be JSON, and that are short. */
export function parseParams(params: string): readonly unknown[] {
  return parseText(params) as readonly unknown[];
}

/** Parses JSON text that is a binary string. */
function parseText(json: string): unknown {
  return JSON.parse(Buffer.from(json, "latin1").toString("utf8"));
}

/** Most fields of an object that is read. */
export const maxFields = 64;

/**
 * Reads an object of the client: the JSON text of its values by their names, of equal names the last. Undefined if the text is not an object, or
 * has more than {@link maxFields}: to parse an object takes time by its keys, of which a few KiB can hold hundreds.
 */
export function readFields(json: string): ReadonlyMap<string, string> | undefined {
  const members = readObject(json, maxFields);
  return members && new Map(members.entries().map(([key, value]) => [parseText(`"${key}"`) as string, value]));
}

/**
 * Parses the value of a field that is a string, a number, or a list of such. Anything that has an object in it is replaced by an
 * empty one: it is another value, and not worth the time.
 */
export function parseFlatValue(json: string | undefined): unknown {
  if (json === undefined) return undefined;
  return json.includes("{") ? {} : (parseText(json) ?? undefined);
}

/** Parses a value if it is short; a longer one is replaced by an empty list, which is as wrong. */
export function parseShortValue(json: string | undefined): unknown {
  if (json === undefined) return undefined;
  return json.length > shortLength ? [] : parseText(json);
}

/** Longest text of an option's value. */
const shortLength = 256;

/** Longest name of a field that an error shows. */
const shownNameLength = 50;

/** Finds the first unknown field, as JSON text for an error to show; undefined if there is none. */
export function findUnknownField(fields: ReadonlyMap<string, string>, known: ReadonlySet<string>): string | undefined {
  const name = fields.keys().find((field) => !known.has(field));
  return name === undefined ? undefined : JSON.stringify(asBinary(name.slice(0, shownNameLength)));
}

/** Most parameters that are remembered, and their greatest length. */
const rememberedChecks = 1_000;
const rememberedLength = 1_024;

/** Values that a check of parameters depends on, besides the parameters. */
export type CheckBasis = Readonly<{ policy: Policy; head: ChainHead | undefined; tier: Tier; method: Method }>;

/** Outcome of a check; parameters that pass have their `buildCallKey`. */
export type CheckedRead =
  | Exclude<CheckedParams, { kind: "pass" }>
  | Readonly<{ kind: "pass"; params: string; gas?: number; key: string }>;

/** Runs a check, or returns the outcome of the same earlier one. */
export type RememberedChecks = (basis: CheckBasis, params: string, check: () => CheckedParams) => CheckedRead;

/**
 * Remembers the outcomes of checks while the policy and the head stay the same: polling clients send the same filter
 * again and again. Refused parameters are checked each time.
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
