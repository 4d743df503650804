/**
 * Callers that may use a method, as in the specification's Availability column. Blank means public; "not on the public endpoint" means
 * private; "internal debug endpoints only" means internal. A `nobody` method is declared but answered with METHOD_NOT_FOUND.
 */
export type Audience = "public" | "private" | "internal" | "nobody";

/** Name of a listener; also the widest audience whose methods it serves. */
export type ListenerName = Exclude<Audience, "nobody">;

/** Shape of a parameter, as the OpenRPC document and the method reference show it. */
export type ParamShape =
  | "address"
  | "block"
  | "blockHash"
  | "blockNumberOrHash"
  | "boolean"
  | "callObject"
  | "data"
  | "hash"
  | "logFilter"
  | "percentiles"
  | "quantity"
  | "storageKeys"
  | "subscriptionId"
  | "subscriptionType"
  | "traceFilter"
  | "tracerOptions";

export type Param = Readonly<{ name: string; shape: ParamShape; optional?: true }>;

/**
 * How long a response may be reused. `constant`: while the gateway stays connected to the same node; `hash`: forever, because the first
 * parameter identifies a block by its hash; `block`: forever if the parameter at `at` is a finalized number, otherwise within one head;
 * `logs`: like `block`, but determined by the filter's range; `head`: within one head; `none`: never.
 */
export type CacheRule =
  | Readonly<{ kind: "none" | "constant" | "hash" | "logs" | "head" }>
  | Readonly<{ kind: "block"; at: number }>;

/**
 * Limit that the gateway checks on a method's parameters. `logs`, `logsAtOnce` (never in pieces) and `traceRange`: a block range; `tracer`:
 * tracer options at parameter `at`, with state and block overrides if settings allow `overrides`; `lastTracer`: tracer options in the last
 * parameter, whatever its index; `gas`: the first parameter is a call with a gas cap, which the node may run many times if `isRepeated`.
 */
export type ParamLimit =
  | Readonly<{ kind: "logs" | "logsAtOnce" | "traceRange" | "lastTracer" }>
  | Readonly<{ kind: "gas"; isRepeated?: true }>
  | Readonly<{ kind: "tracer"; at: number; overrides?: true }>;

/** One JSON-RPC method, with all its metadata. */
export type Method = Readonly<{
  name: string;
  summary: string;
  params: readonly Param[];
  result: string;
  audience: Audience;
  answeredBy: "node" | "gateway" | "nobody";
  /** JSON text of the constant with which the gateway responds. */
  constant?: string;
  limit?: ParamLimit | undefined;
  /** Max size of the parameters' JSON text, in bytes; if absent, `limits.paramsBytes` applies. */
  paramsBytes?: number | undefined;
  /** Compute units that the caller is charged per call. */
  costUnits: number;
  cache: CacheRule;
  /** Max time from the call's arrival to the first byte of the node's response, in ms. */
  timeoutMs: number;
  /** Whether the call is idempotent; if so, it is resent to the node when the connection turns out to be closed. */
  repeatable: boolean;
  /** Served even while the node is behind, because the method concerns the node itself or sends it a transaction. */
  whileBehind?: true;
  webSocketOnly?: true;
}>;

export const neverCached: CacheRule = { kind: "none" };

/** Max size of parameters, in bytes, for calls with data (contract code, multicalls, state overrides), and for lists. */
export const dataParamsBytesMax = 524_288;
export const listParamsBytesMax = 131_072;

/**
 * Factor for the gas of a traced call and of an access list. A trace contains the input and output of each inner call, and a node finds an
 * access list by repeating the call until the list no longer changes, so either may take many times the CPU of the call itself (`npm run
 * bench:gateway -- --only node`).
 */
export const tracingGasFactor = 5;

/** Defines a method; by default it is public, answered by the node and repeatable, with a 10-second timeout. */
export function defineMethod(
  name: string,
  params: readonly Param[],
  result: string,
  cache: CacheRule,
  costUnits: number,
  summary: string,
  more?: Partial<Method>,
): Method {
  const defaults = { audience: "public", answeredBy: "node", timeoutMs: 10_000, repeatable: true } as const;
  return { name, params, result, cache, costUnits, summary, ...defaults, ...more };
}
