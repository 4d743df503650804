import type { RpcError } from "../errors.ts";
import type { Caller } from "../callers/caller.ts";
import type { CallGate, LoadGate } from "../limits/load-gate.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { NodeTime } from "../limits/node-time.ts";
import type { CallTrace } from "../observe/tracing.ts";
import type { NodeSender } from "../upstream/node-call.ts";
import type { TraceContext } from "#daemon/http/trace-context.ts";
import type { ListenerName } from "../catalogue/method.ts";
import type { Head, NodeFitness } from "../chain/head.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import type { RememberedChecks } from "../limits/checked-params.ts";
import type { Meter } from "../observe/meter.ts";
import type { Policy, PolicySource } from "../policy.ts";
import type { NodeReads } from "../reads/node-reads.ts";

/** Outcome of a subscription call, as JSON text or as an error. */
export type SubscriptionResponse =
  | Readonly<{ kind: "result"; json: string }>
  | Readonly<{ kind: "error"; error: RpcError }>
  | Readonly<{ kind: "nodeError"; json: string }>;

/** The subscriptions of one WebSocket client. */
export type Subscriptions = Readonly<{
  /** Handles eth_subscribe and eth_unsubscribe; `params` is the JSON text of an array. */
  answer: (method: string, params: string) => Promise<SubscriptionResponse>;
}>;

/** Context of a message: its caller and its metadata. */
export type MessageContext = Readonly<{
  caller: Caller;
  /** Memory budget of the caller's connection. */
  memory: HeldBytes;
  traceContext: TraceContext | undefined;
  requestId?: string | undefined;
  /** Subscriptions of the caller's WebSocket; undefined over HTTP. */
  subscriptions?: Subscriptions | undefined;
}>;

/** Context shared by the calls in a message: their caller, their arrival time, and what is sent to the node with them. */
export type CallContext = MessageContext &
  Readonly<{
    startedAt: number;
    /** Whether the calls' bytes were already charged with their message. */
    hasPaidBytes?: boolean | undefined;
    /** Trace of a single call, or of a call in a batch, if tracing is enabled. */
    trace?: CallTrace | undefined;
    /** The batch that the calls belong to, for what they share on the way to the node. */
    batch?: Readonly<{ sender: NodeSender; gate: CallGate; nodeTime: NodeTime }> | undefined;
  }>;

/** Dependencies shared by all calls of a gateway. */
export type CallDependencies = Readonly<{
  policy: PolicySource;
  limiter: RateLimiter;
  gate: LoadGate;
  head: Head;
  checks: RememberedChecks;
  reads: NodeReads;
  nodeFitness: () => NodeFitness;
  meter: Meter;
  /** Returns the OpenRPC document for a listener as JSON text. */
  openRpc: (policy: Policy, listener: ListenerName) => string;
  /** Returns the milliseconds of a monotonic clock. */
  now: () => number;
}>;
