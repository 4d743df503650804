import { formatErrorAnswer } from "../json-rpc/read-answer.ts";
import { isBad, type BadCall, type Call } from "../json-rpc/call.ts";
import { collectionErrors, type CollectionFailure } from "../errors.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import { HeldScope } from "../memory/held-scope.ts";
import type { AnswerFlow, AnswerSink } from "../answers/answer-sink.ts";
import { OrderedWriter } from "../answers/ordered-writer.ts";
import type { NodeBatch } from "../upstream/node-batches.ts";
import type { Turns } from "../wire/shared-turns.ts";
import type { PlainReads } from "./plain-reads.ts";
import { TextSink, type LongAnswer, type RunReceiver, type TextAnswer } from "../answers/text-sink.ts";

/** Fewest bytes that a call of a batch counts for in a turn of the event loop. */
const callBytes = 128;

/** Bounds of a batch in progress. */
export type BatchLimits = Readonly<{
  /**
   * Number of calls by which this one may start ahead of the first unanswered call; `inTurn`: it starts when all before it are
   * answered, and those after it start when it is.
   */
  ahead: (call: Call | BadCall) => number | "inTurn";
  responseBytes: number;
}>;

/** Collaborators of a running batch, and the memory of its caller's connection. */
export type BatchDependencies = Readonly<{
  handle: (call: Call | BadCall, sink: AnswerSink) => AnswerFlow;
  sink: AnswerSink;
  memory: HeldBytes;
  turns: Turns;
  /** Creates the beginning of calls that are plain reads; absent: all go to `handle`. */
  plainReads?: ((receiver: RunReceiver) => PlainReads) | undefined;
  /** Gathers calls that are started one after another into one batch to the node, even over several turns. */
  toNode: Pick<NodeBatch, "gather" | "release">;
  /** Sets what goes on with the batch after `ahead` let no call start. */
  onResume?: (goOn: () => void) => void;
}>;

/**
 * Answers the calls of a batch, in their order; those that finish early wait for their turn, and no call starts further ahead than it may.
 * Calls that are answered at once are left for a later turn of the event loop if they take too long together. Notifications are run and
 * have no entry; if nothing has an entry the answer is empty text. If limits refused all that have one, the answer is a limit's. Answers beyond `responseBytes` are replaced by errors, as geth does it.
 */
export function runBatch(
  calls: readonly (Call | BadCall)[],
  limits: BatchLimits,
  dependencies: BatchDependencies,
): AnswerFlow {
  const run = new BatchRun(calls, limits, dependencies);
  dependencies.onResume?.(() => run.goOn());
  run.goOn();
  return run;
}

/** A batch in progress. It receives the answers of its calls, each with the call's place. */
class BatchRun implements AnswerFlow, RunReceiver {
  readonly limitBytes: number;
  readonly memory: HeldScope;
  readonly #calls: readonly (Call | BadCall)[];
  readonly #limits: BatchLimits;
  readonly #dependencies: BatchDependencies;
  readonly #writer: OrderedWriter;
  readonly #plain: PlainReads | undefined;
  /** Flows of the calls in progress, by their places. */
  readonly #flows: (AnswerFlow | undefined)[] = [];
  readonly #settled: Uint8Array;
  #next = 0;
  #firstAfterTurn = 0;
  #isCancelled = false;
  #isRunning = false;
  /** Whether an entry is anything but a limit's refusal, and the longest time that those ask for. */
  #isServed = false;
  #retryAfterSeconds: number | undefined;

  constructor(calls: readonly (Call | BadCall)[], limits: BatchLimits, dependencies: BatchDependencies) {
    const { sink, memory, plainReads } = dependencies;
    this.limitBytes = limits.responseBytes;
    this.memory = new HeldScope(memory);
    this.#calls = calls;
    this.#limits = limits;
    this.#dependencies = dependencies;
    this.#settled = new Uint8Array(calls.length);
    this.#plain = plainReads?.(this);
    const entryWithout = (place: number) => formatEntry(calls[place]?.id, "tooLong");
    this.#writer = new OrderedWriter(
      { places: calls.length, head: "[", tail: "]", empty: "" },
      {
        sink,
        memory: this.memory,
        room: { limitBytes: limits.responseBytes, entryWithout },
        retryAfterSeconds: () => (this.#isServed ? undefined : this.#retryAfterSeconds),
      },
    );
  }

  /** Starts the calls that may start, and sends the answers whose turn it is. */
  goOn(): void {
    // An answer that comes at once, or before a later turn, calls back into here; the steps see what it changed.
    if (this.#isRunning || this.#isCancelled) return;
    if (this.#next === this.#calls.length) {
      this.#writer.flush();
      return;
    }
    const { toNode, turns } = this.#dependencies;
    this.#isRunning = true;
    toNode.gather();
    turns.run(
      () => this.#step(),
      () => this.#isCancelled,
    );
  }

  receive(answer: TextAnswer | CollectionFailure, place: number): void {
    this.#flows[place] = undefined;
    this.#settled[place] = 1;
    const source = typeof answer === "string" ? "gateway" : answer.source;
    const entry = formatEntry(this.#calls[place]?.id, answer);
    const retryAfterSeconds = typeof answer === "string" ? undefined : answer.retryAfterSeconds;
    if (retryAfterSeconds === undefined) this.#isServed ||= entry !== "";
    else this.#retryAfterSeconds = Math.max(retryAfterSeconds, this.#retryAfterSeconds ?? 0);
    this.#writer.put(place, entry, entry === "" ? undefined : source);
    this.#goOnOrCut();
  }

  hasRoom(place: number, bytes: number): boolean {
    return this.#writer.hasRoom(place, bytes);
  }

  receiveRun(text: string, first: number, count: number): void {
    this.#flows.fill(undefined, first, first + count);
    this.#settled.fill(1, first, first + count);
    this.#isServed = true;
    this.#writer.putRun(text, count, "node");
    this.goOn();
  }

  receiveLong({ parts, source }: LongAnswer, place: number): void {
    this.#flows[place] = undefined;
    this.#settled[place] = 1;
    const hasEntry = this.#calls[place]?.id !== undefined;
    this.#isServed ||= hasEntry;
    this.#writer.put(place, hasEntry ? withoutEnd(parts) : "", hasEntry ? source : undefined);
    this.#goOnOrCut();
  }

  resume(): void {
    this.#writer.resume();
    this.goOn();
  }

  cancel(): void {
    this.#isCancelled = true;
    this.memory[Symbol.dispose]();
    for (const flow of this.#flows.splice(0)) flow?.cancel();
    // Another caller may wait for a call that it shares with this batch.
    this.#dependencies.toNode.release();
  }

  /** Once an answer had no room, gives up the calls in progress: the node would answer them for nothing. */
  #goOnOrCut(): void {
    const left = this.#writer.isFull ? this.#flows.splice(0) : [];
    for (const [place, flow] of left.entries()) {
      if (flow === undefined) continue;
      flow.cancel();
      this.receive("tooLong", place);
    }
    this.goOn();
  }

  #step(): number {
    const call = this.#writer.flush() ? this.#calls[this.#next] : undefined;
    this.#isRunning = call !== undefined && this.#mayStart(call);
    if (call === undefined || !this.#isRunning) {
      this.#dependencies.toNode.release();
      return 0;
    }
    this.#next += 1;
    this.#start(this.#next - 1, call);
    return Math.max(callBytes, isBad(call) ? 0 : (call.params?.length ?? 0));
  }

  #mayStart(call: Call | BadCall): boolean {
    const { turn } = this.#writer;
    if (turn < this.#firstAfterTurn) return false;
    const ahead = this.#limits.ahead(call);
    if (ahead !== "inTurn") return this.#next < turn + ahead;
    if (this.#next !== turn) return false;
    this.#firstAfterTurn = turn + 1;
    return true;
  }

  #start(place: number, call: Call | BadCall): void {
    if (this.#writer.isFull || this.#writer.writtenBytes >= this.limitBytes) this.receive("tooLong", place);
    else {
      const flow = this.#plain?.begin(call, place) ?? this.#dependencies.handle(call, new TextSink(this, place));
      if (this.#isCancelled) flow.cancel();
      else if (this.#settled[place] === 0) this.#flows[place] = flow;
    }
  }
}

/** Returns the entry of an answer; empty for a notification. */
function formatEntry(id: string | undefined, answer: TextAnswer | CollectionFailure): string {
  if (id === undefined) return "";
  if (typeof answer === "string") return formatErrorAnswer(id, collectionErrors[answer]);
  return answer.text.endsWith("}") ? answer.text : answer.text.trimEnd();
}

/** Returns parts without the white space that nodes end an answer with. */
function withoutEnd(parts: readonly Buffer[]): readonly Buffer[] {
  const last = parts.at(-1);
  if (last === undefined) return parts;
  const trimmed = last.subarray(0, last.toString("latin1").trimEnd().length);
  const before = parts.slice(0, -1);
  return trimmed.length === 0 ? withoutEnd(before) : [...before, trimmed];
}
