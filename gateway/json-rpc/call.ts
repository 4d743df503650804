import type { RpcError } from "../errors.ts";

/** One call of a client. Its parts are slices of the received bytes, as binary strings (one character per byte). */
export type Call = Readonly<{
  /** JSON text of the id, byte for byte; undefined for a notification, which gets no response. */
  id: string | undefined;
  method: string;
  /** JSON text of the parameters; undefined if absent or null. Any JSON value: whether it is an array is checked later. */
  params: string | undefined;
  /** The {@link buildCallKey} of method and unchanged parameters, if already known. */
  key?: string;
  /** The `hashKey` of `key`, if known. */
  hash?: number;
  /** Received text of the call, if it is byte for byte the output of `formatCall` for its parts. */
  wire?: string;
  /** Size of the call in whole KiB; absent below one. */
  kib?: number;
}>;

/** An invalid value in place of a call; it gets an error with this id (JSON text). */
export type BadCall = Readonly<{
  id: string;
  error: RpcError;
  /** The limit that rejected it, if any. */
  limit?: "batch" | "message";
  kib?: number;
}>;

/** Content of one request body or WebSocket message. */
export type Message =
  | Readonly<{ kind: "single"; call: Call | BadCall }>
  | Readonly<{ kind: "batch"; calls: readonly (Call | BadCall)[] }>;

/** Whether the call is invalid, in which case it is answered only with an error. */
export function isBad(call: Call | BadCall): call is BadCall {
  return "error" in call;
}

/** Builds the key that identifies equal calls; `params` is the JSON text of an array. */
export function buildCallKey(method: string, params: string): string {
  return `${method} ${params}`;
}

/** Limits of one message. */
export type MessageLimits = Readonly<{
  /** Max calls of a batch. */
  batchItems: number;
  /** Max nesting depth of arrays and objects. */
  depth: number;
  /** Max bytes of one call: of a whole message, or of a batch's item. */
  callBytes: number;
  /** Max total of values, keys and escaped characters of one call. */
  callValues: number;
}>;
