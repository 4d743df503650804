import type { ResponseFlow, ResponseSink } from "../responses/response-sink.ts";
import type { Method } from "../catalogue/method.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";
import type { NodeSender } from "../upstream/node-call.ts";

/** A call to the node that has passed every check, and the sink for its response. */
export type NodeRead = ResponseSink &
  Readonly<{
    id: string;
    method: Method;
    caller: string;
    memory: HeldBytes;
    /** JSON text of an array. */
    params: string;
    /** Whether the parameter at `index` is the last one and equals this JSON text; absent if only a scan would tell. */
    hasLastParam?: (index: number, json: string) => boolean;
    /** The result of `formatCall` for the id, method and params, if the client sent the call in that form. */
    wire?: string | undefined;
    /** The `buildCallKey` of method and params, and its `hashKey`. */
    key: string;
    hash: number;
    traceContext: TraceContext | undefined;
    /** Sends the call to the node in a batch; if absent, the call is sent alone. */
    sender?: NodeSender | undefined;
    /** Called when the reader has cancelled the read and receives nothing more. */
    cancelled: () => void;
  }>;

/** An in-flight read that identical reads may join. */
export type ReadInFlight = Readonly<{
  /** The `buildCallKey` of method and parameters, and its `hashKey`. */
  key: string;
  hash: number;
  generation: number;
  /** Adds another caller's identical read: from now on, the call to the node also uses that caller's scheduling rounds. */
  join: (read: NodeRead) => ResponseFlow;
}>;

/** How long a read's response may be reused, and the state of head and cache when it was requested. */
export type ReadContext = Readonly<{ lifetime: CacheLifetime; generation: number; epoch: number; isKept: boolean }>;

/** How long a response may be reused. `head`: while the chain's head stays the same; `ever`: until memory is needed, or the node is replaced. */
export type CacheLifetime = "none" | "head" | "ever";
