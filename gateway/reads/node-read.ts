import type { Method } from "../catalogue/method.ts";
import type { HeldBytes } from "../memory/connection-memory.ts";
import type { TraceContext } from "../wire/trace-context.ts";
import type { NodeSender } from "../upstream/node-call.ts";

/** A call that the node has to answer, after every check. */
export type NodeRead = Readonly<{
  method: Method;
  /** Key of the caller who asks. */
  caller: string;
  /** What is held for the caller's connection. */
  memory: HeldBytes;
  /** JSON text of an array. */
  params: string;
  /** The `callKey` of the two. */
  key: string;
  traceContext: TraceContext | undefined;
  /** Sends it to the node with others of its batch; absent: it goes alone. */
  sender?: NodeSender | undefined;
}>;
