import type { Caller } from "../callers/caller.ts";
import type { LoadGate } from "../limits/load-gate.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { CallTrace } from "../observe/tracing.ts";
import type { NodeSender } from "../upstream/node-call.ts";
import type { TraceContext } from "#daemon/http/trace-context.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** What came with a message besides its bytes. */
export type MessageContext = Readonly<{
  caller: Caller;
  /** What is held for the caller's connection. */
  memory: HeldBytes;
  traceContext: TraceContext | undefined;
  requestId?: string | undefined;
  /** Subscriptions of the caller's WebSocket; over HTTP there are none. */
  subscriptions?: Subscriptions | undefined;
}>;

/** What the calls of a message have in common: who makes them, when they came, and what passes on with them. */
export type CallContext = MessageContext &
  Readonly<{
    startedAt: number;
    /** Whether the bytes of the calls were charged with their message. */
    hasPaidBytes?: boolean | undefined;
    /** The trace of a single call, or of one of a batch, when traces are made. */
    trace?: CallTrace | undefined;
    /** The batch that the calls came in, as far as they share their way to the node. */
    batch?: Readonly<{ sender: NodeSender; gate: LoadGate }> | undefined;
  }>;
