import type { ResponseFlow, ResponseSink } from "../answers/answer-sink.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/trace-context.ts";

/** The id of a batch, as JSON text; a client's own call may also have this id. */
export const batchId = "null";

export type NodeCall = Readonly<{
  /** Key of the caller: callers are served round-robin. */
  caller: string;
  /** Memory budget for the response if it is buffered; absent for the gateway's own queries. */
  memory?: HeldBytes | undefined;
  /** The id in the body, as JSON text. */
  id: string;
  /** JSON-RPC request as a binary string. */
  body: string;
  /** Timeout until the first byte of the response. The same limit applies to each silence during a streamed body. */
  timeoutMs: number;
  /** Whether the call may be resent if a keep-alive connection turns out to be closed. */
  repeatable: boolean;
  /** Trace context to propagate. */
  traceContext?: TraceContext | undefined;
  sink: ResponseSink;
}>;

/** Control over an in-flight call. */
export type NodeFlow = ResponseFlow &
  Readonly<{
    /** Adds another caller that is waiting for the same response. While queued, the call also uses that caller's turns, and its timeout restarts. */
    join: (caller: string) => void;
  }>;

/** Sends calls to the node: the connection pool, or the sender of one client's batch. */
export type NodeSender = Readonly<{ send: (call: NodeCall) => NodeFlow }>;
