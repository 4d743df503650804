import type { RpcError } from "../envelope/rpc-error.ts";

/**
 * What a check of parameters comes to: the JSON text that goes to the node, the error that goes to the client, or pieces of a
 * range, each with its own parameters, whose results (arrays) make the answer when joined.
 */
export type CheckedParams =
  | Readonly<{ kind: "pass"; params: string }>
  | Readonly<{ kind: "refuse"; error: RpcError; limit: "blockRange" | "tracer" | undefined }>
  | Readonly<{ kind: "split"; pieces: readonly string[] }>;

/** How a range is limited. */
export type RangeLimit = Readonly<{ capBlocks: number; splitBlocks: number; errorCode: number }>;

/** Lets parameters pass as this value; what the gateway checked is what the node reads. */
export function pass(value: unknown): CheckedParams {
  return { kind: "pass", params: asBinary(JSON.stringify(value)) };
}

/** Refuses parameters; `limit` names the limit that they are over, when they are good but for that. */
export function refuse(error: RpcError, limit?: "blockRange" | "tracer"): CheckedParams {
  return { kind: "refuse", error, limit };
}

/** Parses parameters that the scanner has found to be JSON. */
export function parseParams(params: string): readonly unknown[] {
  return JSON.parse(Buffer.from(params, "latin1").toString("utf8")) as readonly unknown[];
}

/** A text as a binary string of its UTF-8. */
export function asBinary(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

/** An object of the client whose own keys are read and no others; undefined when the value is none. */
export function ownFields(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return new Map(Object.entries(value));
}

/** Longest name of a field that an error shows. */
const shownNameLength = 50;

/** The first field that is none of the known ones, as JSON text for an error to show; undefined when there is none. */
export function unknownField(fields: ReadonlyMap<string, unknown>, known: ReadonlySet<string>): string | undefined {
  const name = fields.keys().find((field) => !known.has(field));
  return name === undefined ? undefined : JSON.stringify(asBinary(name.slice(0, shownNameLength)));
}
