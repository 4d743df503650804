import type { RpcError } from "../errors.ts";

/** One call of a client. Its parts are slices of what came over the wire, as binary strings (one character a byte). */
export type Call = Readonly<{
  /** JSON text of the id, byte for byte; undefined for a notification, which gets no answer. */
  id: string | undefined;
  method: string;
  /** JSON text of the parameters; undefined if absent or null. Any JSON value: whether it is an array is checked later. */
  params: string | undefined;
  /** The {@link buildCallKey} of method and parameters as they are, if the call is known already. */
  key?: string;
  /** The `hashKey` of that, if it is known. */
  hash?: number;
  /** Text of the call as it came, if that is byte for byte what `formatCall` writes of its parts. */
  wire?: string;
  /** Whole KiB of the call; absent below one. */
  kib?: number;
}>;

/** Something other than a call in the place of a call; it gets an error with this id (JSON text). */
export type BadCall = Readonly<{
  id: string;
  error: RpcError;
  /** The limit that refused it, if one did. */
  limit?: "batch" | "message";
  kib?: number;
}>;

/** Content of one request body or WebSocket message. */
export type Message =
  | Readonly<{ kind: "single"; call: Call | BadCall }>
  | Readonly<{ kind: "batch"; calls: readonly (Call | BadCall)[] }>;

/** Whether this can only be answered with its error. */
export function isBad(call: Call | BadCall): call is BadCall {
  return "error" in call;
}

/** Builds the key by which equal calls are recognised; `params` is the JSON text of an array. */
export function buildCallKey(method: string, params: string): string {
  return `${method} ${params}`;
}

/** Bounds of one message. */
export type MessageLimits = Readonly<{
  /** Calls of a batch. */
  batchItems: number;
  /** Deepest nesting of arrays and objects. */
  depth: number;
  /** Bytes of one call: of a whole message, or of a batch's item. */
  callBytes: number;
  /** Values, keys and escaped characters of one call together. */
  callValues: number;
}>;
