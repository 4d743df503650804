/**
 * Callers that may use a method: specification, column Availability. Blank means public; "not on the public endpoint" private; "internal
 * debug endpoints only" internal. `nobody` is declared but answered with METHOD_NOT_FOUND.
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

/** One positional parameter. */
export type Param = Readonly<{ name: string; shape: ParamShape; optional?: true }>;

/**
 * How long a response may be reused. `constant`: while the gateway stays connected to the same node; `hash`: forever, the first parameter
 * identifies a block by its hash; `block`: forever if the parameter at `at` is a finalised number, else within one head; `logs`: the same,
 * by the filter's range; `head`: within one head; `none`: never.
 */
export type CacheRule =
  | Readonly<{ kind: "none" | "constant" | "hash" | "logs" | "head" }>
  | Readonly<{ kind: "block"; at: number }>;

/**
 * Limit on a method's parameters that the gateway checks. `logs`, `logsAtOnce` (never in pieces) and `traceRange`: a block range; `tracer`:
 * tracer options at parameter `at`, with state and block overrides if settings allow `overrides`; `lastTracer`: tracer options in the last
 * parameter, whatever its index; `gas`: the first parameter is a call with a gas cap.
 */
export type ParamLimit =
  | Readonly<{ kind: "logs" | "logsAtOnce" | "traceRange" | "lastTracer" | "gas" }>
  | Readonly<{ kind: "tracer"; at: number; overrides?: true }>;

/** One method of the JSON-RPC interface, with all its metadata. */
export type Method = Readonly<{
  name: string;
  summary: string;
  params: readonly Param[];
  /** Description of its result. */
  result: string;
  audience: Audience;
  answeredBy: "node" | "gateway" | "nobody";
  /** JSON text of the constant that the gateway responds with. */
  constant?: string;
  limit?: ParamLimit;
  /** Max size of its parameters' JSON text, in bytes; absent: `limits.paramsBytes` applies. */
  paramsBytes?: number;
  /** Compute units that one call costs its caller. */
  costUnits: number;
  cache: CacheRule;
  /** Max time from the call's arrival to the first byte of the node's response, in ms. */
  timeoutMs: number;
  /** Whether the call is idempotent: it is resent to the node if the connection turns out to be closed. */
  repeatable: boolean;
  /** Served while the node is behind, because it concerns the node itself or sends it a transaction. */
  whileBehind?: true;
  /** Available over WebSocket only. */
  webSocketOnly?: true;
}>;
