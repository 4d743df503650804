import type { JsonRpcResponse, JsonRpcCall } from "#daemon/json-rpc.ts";
import { FairQueue } from "#daemon/fair-queue.ts";
import { AbandonedError, ChainError } from "./chain-error.ts";

/**
 * Priorities of calls to the node, most urgent first: watching the chain, and sending and tracking settlements; checking payments to
 * settle; verifying payments.
 */
export const lines = ["upkeep", "settling", "verifying"] as const;

export type Line = (typeof lines)[number];

/** Queue position of a call. */
export type CallLocation = Readonly<{
  line: Line;
  /** The caller that made the call; callers in a queue are served round-robin. */
  caller: string;
  /** Aborts when no client waits for the result. */
  signal?: AbortSignal | undefined;
}>;

/** Call without a response yet. */
export type WaitingCall = Readonly<{
  call: JsonRpcCall & Pick<CallLocation, "caller">;
  /** Settles when the call gets a response, fails or times out. */
  ended: Promise<JsonRpcResponse>;
  answer: (answer: JsonRpcResponse) => void;
  fail: (error: unknown) => void;
}>;

/** Time limit of a call, measured from when it is made, and max waiting calls per line. */
export type CallQueueOptions = Readonly<{ timeoutMs: number; waitingMax: number }>;

/** Calls waiting for the node, queued in lines. A call is removed when it times out or its caller disconnects. */
export class CallQueues {
  readonly #options: CallQueueOptions;
  readonly #byLine: Readonly<Record<Line, FairQueue<WaitingCall>>> = {
    upkeep: new FairQueue(),
    settling: new FairQueue(),
    verifying: new FairQueue(),
  };

  constructor(options: CallQueueOptions) {
    this.#options = options;
  }

  has(line: Line): boolean {
    return this.#byLine[line].size > 0;
  }

  /** Dequeues at most `most` calls from a line, round-robin between its callers. */
  acquire(line: Line, most: number): readonly WaitingCall[] {
    const taken: WaitingCall[] = [];
    while (taken.length < most) {
      const next = this.#byLine[line].next(() => true);
      if (next === undefined) break;
      taken.push(next);
    }
    return taken;
  }

  /**
   * @throws {ChainError} when the line is full.
   */
  add(call: JsonRpcCall, { line, caller, signal }: CallLocation): WaitingCall {
    const { timeoutMs, waitingMax } = this.#options;
    const waiting = this.#byLine[line];
    if (waiting.size >= waitingMax)
      throw new ChainError("refused", `${waitingMax} calls are already queued for the node, the limit`);
    const { promise, resolve, reject } = Promise.withResolvers<JsonRpcResponse>();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
      waiting.delete(ticket);
    };
    const fail = (error: unknown) => {
      end();
      reject(error);
    };
    const leave = () => fail(new AbandonedError("the caller disconnected"));
    const timeOut = () => fail(new ChainError("timeout", `the node did not respond within ${timeoutMs} ms`));
    const answer = (given: JsonRpcResponse) => {
      end();
      resolve(given);
    };
    const ticket: WaitingCall = { call: { ...call, caller }, ended: promise, answer, fail };
    const timer = setTimeout(timeOut, timeoutMs);
    waiting.add(ticket);
    signal?.addEventListener("abort", leave, { once: true });
    if (signal?.aborted === true) leave();
    return ticket;
  }
}
