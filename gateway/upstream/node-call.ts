import type { NodeFailure } from "../errors.ts";
import type { HeldBytes } from "../memory/connection-memory.ts";
import type { TraceContext } from "../wire/trace-context.ts";

/** Takes what the node answers to one call; see `AnswerSink` for the order of calls. */
export type NodeSink = Readonly<{
  /** Whether it does nothing with an answer before its end: a short one may come as `whole` then, in however many reads it came. */
  wantsWhole?: boolean;
  /** The bytes hold until this returns: what is to stay is copied. Those of a `chunk` are the sink's to keep. */
  whole: (body: Buffer) => void;
  /**
   * A whole answer that came among those of a batch, as a binary string; without it they come as `whole`. It is a part of the batch's text:
   * what is to stay for long is copied, or all of that stays.
   */
  text?: ((answer: string) => void) | undefined;
  begin: (lengthBytes: number | undefined) => void;
  /** False asks to wait for `resume`. */
  chunk: (bytes: Buffer) => boolean;
  end: () => void;
  /** Before `begin`: there is no answer. After it: the answer is cut short. */
  fail: (failure: NodeFailure) => void;
}>;

/** One call to the node. */
export type NodeCall = Readonly<{
  /** Who asks: callers are served by turns. */
  caller: string;
  /** What its answer is held in where it is collected; absent: it is the gateway's own question. */
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
  sink: NodeSink;
}>;

/** Steers a call under way. */
export type NodeFlow = Readonly<{
  resume: () => void;
  cancel: () => void;
  /** Another caller waits for the same answer: while the call waits for its turn it has that caller's, too, and waits as long as a call that begins now. */
  join: (caller: string) => void;
}>;

/** Takes calls to the node: the pool of connections, or what sends those of one client's batch together. */
export type NodeSender = Readonly<{ send: (call: NodeCall) => NodeFlow }>;
