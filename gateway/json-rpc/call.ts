import type { RpcError } from "../errors.ts";

/** One call from a client. Its parts are slices of the received bytes, as binary strings (one character per byte). */
export type Call = Readonly<{
  /** JSON text of the id, byte for byte; undefined for a notification, which gets no response. */
  id: string | undefined;
  method: string;
  /** JSON text of the parameters; undefined if absent or null. May be any JSON value: whether it is an array is checked later. */
  params: string | undefined;
  /** The {@link buildCallKey} of method and unchanged parameters, if already known. */
  key?: string;
  /** The `hashKey` of `key`, if already known. */
  hash?: number;
  /** The call's text as received, if it is byte for byte what `formatCall` would produce from its parts. */
  wire?: string;
  /** Size of the call in whole KiB; absent if less than one. */
  kib?: number;
}>;

/** An invalid value in place of a call; the client gets an error with this id (JSON text). */
export type BadCall = Readonly<{
  id: string;
  error: RpcError;
  /** The limit that the value exceeded, if any. */
  limit?: "batch" | "message";
  kib?: number;
}>;

/** Content of one request body or WebSocket message. */
export type Message =
  | Readonly<{ kind: "single"; call: Call | BadCall }>
  | Readonly<{ kind: "batch"; calls: readonly (Call | BadCall)[] }>;

/** Whether the call is invalid, in which case the only response is an error. */
export function isBad(call: Call | BadCall): call is BadCall {
  return "error" in call;
}

/** Builds the key by which equal calls are recognised; `params` is the JSON text of an array. */
export function buildCallKey(method: string, params: string): string {
  return `${method} ${params}`;
}

/** Limits of one message. */
export type MessageLimits = Readonly<{
  /** Max calls in a batch. */
  batchItems: number;
  /** Max nesting depth of arrays and objects. */
  depth: number;
  /** Max bytes of one call, which is a whole message or one item of a batch. */
  callBytes: number;
  /** Max total number of values, keys and escaped characters in one call. */
  callValues: number;
}>;
