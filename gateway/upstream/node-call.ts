import type { ResponseFlow, ResponseSink } from "../responses/response-sink.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";

/** Id of an error that concerns a whole batch, as JSON text; a client's own call may also have this id. */
export const batchErrorId = "null";

export type NodeCall = Readonly<{
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
  traceContext?: TraceContext | undefined;
  sink: ResponseSink;
}>;

export type NodeFlow = ResponseFlow &
  Readonly<{
    /**
     * Adds another caller that is waiting for the same response. While queued, the call also takes that caller's turns, and its timeout
     * starts over.
     */
    join: (caller: string) => void;
  }>;

/** Sends calls to the node: the connection pool, or the sender of one client's batch. */
export type NodeSender = Readonly<{ send: (call: NodeCall) => NodeFlow }>;

/** An upstream to which a gateway sends calls, and the number of calls that wait for one of its connections. */
export type NodeUpstream = NodeSender & Readonly<{ waiting: number }>;
