import type { Method, ListenerName } from "../catalogue/method.ts";
import type { Caller } from "../callers/caller.ts";
import type { Head } from "../chain/head.ts";
import type { BadCall, Call } from "../json-rpc/call.ts";
import type { LoadGate } from "../limits/load-gate.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import type { RememberedChecks } from "../limits/remembered-checks.ts";
import type { HeldBytes } from "../memory/connection-memory.ts";
import type { Meter } from "../observe/meter.ts";
import type { CallTrace } from "../observe/tracing.ts";
import type { Policy, PolicySource } from "../policy/policy.ts";
import type { Tier } from "../settings/policy.ts";
import type { NodeSender } from "../upstream/node-call.ts";
import type { NodeFitness } from "../chain/node-fitness.ts";
import type { AnswerSink } from "../answers/answer-sink.ts";
import type { NodeReads } from "../reads/node-reads.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { TraceContext } from "../wire/trace-context.ts";

/** What answering a call takes. */
export type CallDependencies = Readonly<{
  policy: PolicySource;
  limiter: RateLimiter;
  gate: LoadGate;
  head: Head;
  checks: RememberedChecks;
  reads: NodeReads;
  nodeFitness: () => NodeFitness;
  meter: Meter;
  /** JSON text of the OpenRPC document for a listener. */
  openRpc: (policy: Policy, listener: ListenerName) => string;
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
}>;

/** One call on its way: who makes it, when it came, and what passes on with it. */
export type CallContext = Readonly<{
  caller: Caller;
  /** What is held for the caller's connection. */
  memory: HeldBytes;
  startedAt: number;
  /** Whether the bytes of the call were charged with its message. */
  hasPaidBytes?: boolean | undefined;
  traceContext: TraceContext | undefined;
  requestId?: string | undefined;
  /** The call's trace, when traces are made. */
  trace?: CallTrace | undefined;
  /** Subscriptions of the caller's WebSocket; over HTTP there are none. */
  subscriptions?: Subscriptions | undefined;
  /** The batch that the call came in, as far as it shares its way to the node with others of it. */
  batch?: Readonly<{ sender: NodeSender; gate: LoadGate }> | undefined;
}>;

/** A call that is being answered, under the policy that was in force when it came. */
export type Work = Readonly<{
  dependencies: CallDependencies;
  policy: Policy;
  tier: Tier;
  call: Call | BadCall;
  /** JSON text of the id that the answer carries. */
  id: string;
  /** What the caller may call by this name. */
  method: Method | undefined;
  context: CallContext;
  sink: AnswerSink;
}>;
