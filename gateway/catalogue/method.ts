/**
 * Callers that a method is open to: specification, column Availability. Blank means public; "not on the public endpoint" private;
 * "internal debug endpoints only" internal. `nobody` is declared and yet answered METHOD_NOT_FOUND.
 */
export type Audience = "public" | "private" | "internal" | "nobody";

/** Name of a listener; also the widest audience whose methods it has. */
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
 * Time for which an answer may be used again. `constant`: as long as the gateway is connected to the same node; `hash`: for ever, the
 * first parameter names a block by its hash; `block`: for ever if the parameter at `at` is a finalised number, else within
 * one head; `logs`: the same by the filter's bounds; `head`: within one head; `none`: never.
 */
export type CacheRule =
  | Readonly<{ kind: "none" | "constant" | "hash" | "logs" | "head" }>
  | Readonly<{ kind: "block"; at: number }>;

/**
 * Limit on a method's parameters that the gateway checks. `logs`, `logsAtOnce` (never in pieces) and `traceRange`: a range of
 * blocks; `tracer`: tracer options stand at parameter `at`, with state and block overrides if settings let `overrides` pass;
 * `lastTracer`: they are the last parameter, wherever that is; `gas`: the first parameter is a call, whose gas has a cap.
 */
export type ParamLimit =
  | Readonly<{ kind: "logs" | "logsAtOnce" | "traceRange" | "lastTracer" | "gas" }>
  | Readonly<{ kind: "tracer"; at: number; overrides?: true }>;

/** One method of the JSON-RPC interface: everything that the gateway knows about it. */
export type Method = Readonly<{
  name: string;
  summary: string;
  params: readonly Param[];
  /** Description of its result. */
  result: string;
  audience: Audience;
  answeredBy: "node" | "gateway" | "nobody";
  /** JSON text of the constant that the gateway answers with. */
  constant?: string;
  limit?: ParamLimit;
  /** Largest JSON text of its parameters, in bytes; absent: `limits.paramsBytes` applies. */
  paramsBytes?: number;
  /** Compute units that one call costs its caller. */
  costUnits: number;
  cache: CacheRule;
  /** Time that the node may take, from the call's arrival to the answer's first byte. */
  timeoutMs: number;
  /** Whether a second call does no more than the first: it goes to the node again if the connection turns out to be closed. */
  repeatable: boolean;
  /** Served while the node is behind: it is about the node itself, or sends it a transaction. */
  whileBehind?: true;
  /** Works over WebSocket only. */
  webSocketOnly?: true;
}>;
