import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";
import type { Caller } from "../callers/identify.ts";
import type { HeadTracker, NodeFitness } from "../chain/chain-head.ts";
import type { RpcError } from "../errors.ts";
import type { NodeResponse } from "../json-rpc/read-answer.ts";
import type { RememberedChecks } from "../limits/check-params.ts";
import type { LoadGate } from "../limits/load-gate.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import type { Meter } from "../observe/meter.ts";
import type { Tracing } from "../observe/otlp-tracing.ts";
import type { PolicySource } from "../policy.ts";
import type { NodeReads } from "../reads/node-reads.ts";
import type { NodeBatches } from "../upstream/node-batches.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";

/** Outcome of a subscription call: the node's response or the gateway's, or the error that rejects the call. */
export type SubscriptionResponse = NodeResponse | Readonly<{ kind: "rejected"; error: RpcError }>;

export type Subscriptions = Readonly<{
  /** Handles eth_subscribe and eth_unsubscribe; `params` is the JSON text of an array. */
  respond: (method: string, params: string) => Promise<SubscriptionResponse>;
}>;

export type MessageContext = Readonly<{
  caller: Caller;
  memory: HeldBytes;
  traceContext: TraceContext | undefined;
  requestId?: string | undefined;
  /** Subscriptions of the caller's WebSocket; undefined over HTTP. */
  subscriptions?: Subscriptions | undefined;
}>;

export type GatewayContext = Readonly<{
  policy: PolicySource;
  limiter: RateLimiter;
  gate: LoadGate;
  head: HeadTracker;
  fitness: Readonly<{ current: NodeFitness }>;
  checks: RememberedChecks;
  reads: NodeReads;
  nodeBatches: NodeBatches;
  meter: Meter;
  tracing: Tracing | undefined;
  turns: SharedTurns;
  now: () => number;
}>;
