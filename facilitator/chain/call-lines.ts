import type { JsonRpcAnswer, JsonRpcCall } from "#daemon/json-rpc.ts";
import { WaitingTurns } from "#daemon/waiting-turns.ts";
import { AbandonedError, ChainError } from "./chain-error.ts";

/**
 * Purposes of calls to the node, the most urgent first: watching the chain, sending and following what was settled;
 * judging what is to be settled; verifying what may be.
 */
export const lines = ["upkeep", "settling", "verifying"] as const;

export type Line = (typeof lines)[number];

/** Line and turn in which a call waits until it is sent. */
export type CallPlace = Readonly<{
  line: Line;
  /** Caller that it is made for: the callers of a line take turns. */
  caller: string;
  /** Aborts when nobody waits for the answer any more. */
  signal?: AbortSignal | undefined;
}>;

/** A call that was made and has no answer yet. */
export type WaitingCall = Readonly<{
  call: JsonRpcCall & Pick<CallPlace, "caller">;
  /** Settles when it was answered, has failed, or its time is over. */
  ended: Promise<JsonRpcAnswer>;
  answer: (answer: JsonRpcAnswer) => void;
  fail: (error: unknown) => void;
}>;

/** Time that a call may take from when it was made, and most calls that may wait in one line. */
export type CallLineOptions = Readonly<{ timeoutMs: number; waitingMax: number }>;

/** Calls that wait for the node, in lines. A call leaves when its time is over or its caller has gone. */
export class CallLines {
  readonly #options: CallLineOptions;
  readonly #byLine: Readonly<Record<Line, WaitingTurns<WaitingCall>>> = {
    upkeep: new WaitingTurns(),
    settling: new WaitingTurns(),
    verifying: new WaitingTurns(),
  };

  constructor(options: CallLineOptions) {
    this.#options = options;
  }

  has(line: Line): boolean {
    return this.#byLine[line].size > 0;
  }

  /** Takes at most `most` calls out of a line, one of each of its callers after the other. */
  acquire(line: Line, most: number): readonly WaitingCall[] {
    const taken: WaitingCall[] = [];
    while (taken.length < most) {
      const next = this.#byLine[line].next(() => true);
      if (next === undefined) break;
      taken.push(next);
    }
    return taken;
  }

  /** @throws {ChainError} when as many wait in its line as may. */
  add(call: JsonRpcCall, { line, caller, signal }: CallPlace): WaitingCall {
    const { timeoutMs, waitingMax } = this.#options;
    const waiting = this.#byLine[line];
    if (waiting.size >= waitingMax) throw new ChainError("refused", `${waitingMax} calls wait for the node already`);
    const { promise, resolve, reject } = Promise.withResolvers<JsonRpcAnswer>();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
      waiting.delete(ticket);
    };
    const fail = (error: unknown) => {
      end();
      reject(error);
    };
    const leave = () => fail(new AbandonedError("whoever asked has gone"));
    const timeOut = () => fail(new ChainError("timeout", `the node did not answer within ${timeoutMs} ms`));
    const answer = (given: JsonRpcAnswer) => {
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
