import { formatErrorResponse } from "../json-rpc/read-answer.ts";
import { isBad, type BadCall, type Call } from "../json-rpc/call.ts";
import { responseErrors, type ResponseFailure } from "../errors.ts";
import { ResponseMemory } from "../responses/response-memory.ts";
import type { ResponseFlow, ResponseSink } from "../responses/response-sink.ts";
import { OrderedWriter } from "../responses/ordered-writer.ts";
import { createTurns, type Turns } from "../wire/shared-turns.ts";
import type { BatchStrategy } from "./batch-strategy.ts";
import type { CallAccounting } from "./call-accounting.ts";
import type { PlainReads } from "./plain-reads.ts";
import { TextSink, type LongResponse, type RunReceiver, type TextResponse } from "../responses/text-sink.ts";

/** Min bytes that each call in a batch counts as, in an event loop tick. */
const callBytes = 128;

export type BatchDependencies = Readonly<{
  handle: (call: Call | BadCall, sink: ResponseSink) => ResponseFlow;
  sink: ResponseSink;
  /** Creates the handler of plain reads; if undefined, all calls go to `handle`. */
  plainReads: ((receiver: RunReceiver) => PlainReads) | undefined;
}>;

/**
 * Runs the calls in a batch and returns their responses in order. Early responses are buffered, and no call starts further ahead than the
 * strategy allows. If calls that are answered synchronously take too long together, the rest run in a later event loop tick. Notifications
 * run without an entry; if there are no entries, the response is empty text. If limits rejected all calls that have an entry, the response
 * is marked as a limit response. Responses beyond `limits.batchResponseBytes` are replaced by errors, as in geth.
 */
export function runBatch(
  calls: readonly (Call | BadCall)[],
  account: CallAccounting,
  strategy: BatchStrategy,
  dependencies: BatchDependencies,
): ResponseFlow {
  const run = new BatchRun(calls, account, strategy, dependencies);
  strategy.onResume(() => run.proceed());
  run.proceed();
  return run;
}

/** A batch in progress, which receives the responses to its calls, each with the call's slot. */
class BatchRun implements ResponseFlow, RunReceiver {
  readonly limitBytes: number;
  readonly memory: ResponseMemory;
  readonly #entriesMemory: ResponseMemory;
  readonly #calls: readonly (Call | BadCall)[];
  readonly #strategy: BatchStrategy;
  readonly #handle: BatchDependencies["handle"];
  readonly #turns: Turns;
  readonly #writer: OrderedWriter;
  readonly #plain: PlainReads | undefined;
  /** Flow control of the calls in progress, by slot. */
  readonly #flows: (ResponseFlow | undefined)[] = [];
  readonly #settled: Uint8Array;
  #next = 0;
  #firstAfterTurn = 0;
  #isCancelled = false;
  #isCut = false;
  #isRunning = false;
  /** Whether any entry is something other than a limit rejection, and the max retry delay of the rejections. */
  #isServed = false;
  #retryAfterSeconds: number | undefined;

  constructor(
    calls: readonly (Call | BadCall)[],
    { policy, message, context, key }: CallAccounting,
    strategy: BatchStrategy,
    { handle, sink, plainReads }: BatchDependencies,
  ) {
    const { memory } = message;
    this.limitBytes = policy.settings.limits.batchResponseBytes;
    this.memory = new ResponseMemory(memory);
    this.#entriesMemory = new ResponseMemory(memory);
    this.#calls = calls;
    this.#strategy = strategy;
    this.#handle = handle;
    this.#turns = createTurns(context.turns, key);
    this.#settled = new Uint8Array(calls.length);
    this.#plain = plainReads?.(this);
    const buildOmittedEntry = (slot: number) => formatEntry(calls[slot]?.id, "tooLarge");
    this.#writer = new OrderedWriter(
      { slots: calls.length, head: "[", tail: "]", empty: "" },
      {
        sink,
        memory: this.#entriesMemory,
        room: { limitBytes: this.limitBytes, entryWithout: buildOmittedEntry },
        retryAfterSeconds: () => (this.#isServed ? undefined : this.#retryAfterSeconds),
      },
    );
  }

  proceed(): void {
    // A response that arrives synchronously, or before a later tick, re-enters this method; the loop's later steps then see its changes.
    if (this.#isRunning || this.#isCancelled) return;
    if (this.#next === this.#calls.length) {
      this.#writer.flush();
      return;
    }
    this.#isRunning = true;
    this.#strategy.sender.gather();
    this.#turns.run(
      () => this.#step(),
      () => this.#isCancelled,
    );
  }

  receive(answer: TextResponse | ResponseFailure, slot: number): void {
    this.#flows[slot] = undefined;
    this.#settled[slot] = 1;
    const source = typeof answer === "string" ? "gateway" : answer.source;
    const entry = formatEntry(this.#calls[slot]?.id, answer);
    const retryAfterSeconds = typeof answer === "string" ? undefined : answer.retryAfterSeconds;
    if (retryAfterSeconds === undefined) this.#isServed ||= entry !== "";
    else this.#retryAfterSeconds = Math.max(retryAfterSeconds, this.#retryAfterSeconds ?? 0);
    this.#writer.put(slot, entry, entry === "" ? undefined : source);
    this.#continueOrCut();
  }

  hasRoom(slot: number, bytes: number): boolean {
    return this.#writer.hasRoom(slot, bytes);
  }

  receiveRun(text: string, first: number, count: number): void {
    this.#flows.fill(undefined, first, first + count);
    this.#settled.fill(1, first, first + count);
    this.#isServed = true;
    this.#writer.putRun(text, count, "node");
    this.#continueOrCut();
  }

  receiveLong({ parts, source }: LongResponse, slot: number): void {
    this.#flows[slot] = undefined;
    this.#settled[slot] = 1;
    const hasEntry = this.#calls[slot]?.id !== undefined;
    this.#isServed ||= hasEntry;
    this.#writer.put(slot, hasEntry ? trimTrailingWhitespace(parts) : "", hasEntry ? source : undefined);
    this.#continueOrCut();
  }

  resume(): void {
    this.#writer.resume();
    this.proceed();
  }

  cancel(): void {
    this.#isCancelled = true;
    this.memory[Symbol.dispose]();
    this.#entriesMemory[Symbol.dispose]();
    for (const flow of this.#flows.splice(0)) flow?.cancel();
    // Another caller may be waiting for a call that it shares with this batch.
    this.#strategy.sender.release();
  }

  #continueOrCut(): void {
    if (this.#writer.isFull && !this.#isCut) this.#cut();
    this.proceed();
  }

  /** Once a response does not fit, cancels the calls in progress, because their responses would be discarded, and starts no others. */
  #cut(): void {
    this.#isCut = true;
    const left = this.#flows.splice(0);
    for (const flow of left) flow?.cancel();
    // Releases the buffers of the cancelled calls: from now on, no call buffers anything.
    this.memory[Symbol.dispose]();
    for (const [slot, flow] of left.entries()) if (flow !== undefined) this.receive("tooLarge", slot);
  }

  #step(): number {
    const call = this.#writer.flush() ? this.#calls[this.#next] : undefined;
    this.#isRunning = call !== undefined && this.#mayStart(call);
    if (call === undefined || !this.#isRunning) {
      this.#strategy.sender.release();
      return 0;
    }
    this.#next += 1;
    this.#start(this.#next - 1, call);
    return Math.max(callBytes, isBad(call) ? 0 : (call.params?.length ?? 0));
  }

  #mayStart(call: Call | BadCall): boolean {
    const { turn } = this.#writer;
    if (turn < this.#firstAfterTurn) return false;
    const ahead = this.#strategy.ahead(call);
    if (ahead !== "inTurn") return this.#next < turn + ahead;
    if (this.#next !== turn) return false;
    this.#firstAfterTurn = turn + 1;
    return true;
  }

  #start(slot: number, call: Call | BadCall): void {
    if (this.#writer.isFull || this.#writer.writtenBytes >= this.limitBytes) this.receive("tooLarge", slot);
    else {
      const flow = this.#plain?.begin(call, slot) ?? this.#handle(call, new TextSink(this, slot));
      if (this.#isCancelled) flow.cancel();
      else if (this.#settled[slot] === 0) this.#flows[slot] = flow;
    }
  }
}

/** Returns the entry for a response; empty for a notification. */
function formatEntry(id: string | undefined, answer: TextResponse | ResponseFailure): string {
  if (id === undefined) return "";
  if (typeof answer === "string") return formatErrorResponse(id, responseErrors[answer]);
  return answer.text.endsWith("}") ? answer.text : answer.text.trimEnd();
}

/** Returns the parts without the trailing white space that nodes add to a response. */
function trimTrailingWhitespace(parts: readonly Buffer[]): readonly Buffer[] {
  const last = parts.at(-1);
  if (last === undefined) return parts;
  const trimmedEnd = last.subarray(0, last.toString("latin1").trimEnd().length);
  const otherParts = parts.slice(0, -1);
  return trimmedEnd.length === 0 ? trimTrailingWhitespace(otherParts) : [...otherParts, trimmedEnd];
}
