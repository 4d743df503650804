import type { AnswerFlow, AnswerSink } from "../answers/answer-sink.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/trace-context.ts";

/** JSON text of the id that a batch has; a client's own call may have it, too. */
export const batchId = "null";

/** One call to the node. */
export type NodeCall = Readonly<{
  /** Key of the caller: callers are served by turns. */
  caller: string;
  /** Memory of its answer if that is collected; absent for the gateway's own query. */
  memory?: HeldBytes | undefined;
  /** JSON text of the id in the body. */
  id: string;
  /** JSON-RPC request as a binary string. */
  body: string;
  /** Time to the answer's first byte. A streamed body may be silent for as long again at a time. */
  timeoutMs: number;
  /** Whether it may be sent again when a kept-alive connection turns out to be closed. */
  repeatable: boolean;
  /** Trace context to pass on. */
  traceContext?: TraceContext | undefined;
  sink: AnswerSink;
}>;

/** Controls a call in progress. */
export type NodeFlow = AnswerFlow &
  Readonly<{
    /**
     * Adds another caller that waits for the same answer: while the call waits for its turn it has that caller's, too, and waits as long as a
     * call that begins now.
     */
    join: (caller: string) => void;
  }>;

/** Sends calls to the node: the pool of connections, or the sender of one client's batch. */
export type NodeSender = Readonly<{ send: (call: NodeCall) => NodeFlow }>;
