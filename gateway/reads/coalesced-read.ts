import { nodeFailureErrors, type NodeFailure } from "../errors.ts";
import type { AnswerFlow, AnswerSource } from "../answers/answer-sink.ts";
import { CollectedAnswer } from "../upstream/collected-answer.ts";
import type { NodeRead } from "./node-read.ts";
import { PassThrough } from "./pass-through.ts";
import type { ReadOutcome, Reader } from "./reader.ts";
import { callText, errorJsonText, errorText, resultText } from "../json-rpc/answer-text.ts";
import { ownText, readAnswer, type NodeAnswer } from "../json-rpc/read-answer.ts";
import type { NodeFlow, NodeSink } from "../upstream/node-call.ts";
import type { NodePool } from "../upstream/node-pool.ts";
import type { CacheScope } from "./cache/cache-scope.ts";

/** For how long a read's answer may be used again, and what was known when it was asked for. */
export type ReadMoment = Readonly<{
  scope: CacheScope;
  /** Of the head. */
  generation: number;
  /** Of the cache. */
  epoch: number;
  /** The `keyHash` of its key. */
  hash: number;
  /** Whether the cache wants the result. */
  isKept: boolean;
}>;

/** What all shared reads need, and tell. */
export type SharedReadOwner = Readonly<{
  pool: Pick<NodePool, "send">;
  /** Largest answer that is shared. */
  limitBytes: number;
  /** Nobody can join any more. */
  closed: (shared: CoalescedRead) => void;
  /** The node's result, which the cache wants. */
  result: (shared: CoalescedRead, json: string) => void;
  /** Serves a reader by a call of its own, because the answer is too long to be shared. */
  alone: (read: NodeRead, reader: Reader) => AnswerFlow;
}>;

/**
 * One call to the node that answers several equal reads. Each reader gets its own id; the first one gets the node's bytes as they
 * are, and streamed when they are more than can be shared. The call ends when its last reader goes. It is the flow of its first
 * reader's answer.
 */
export class CoalescedRead implements AnswerFlow, NodeSink {
  readonly wantsWhole = true;
  readonly read: NodeRead;
  readonly moment: ReadMoment;
  readonly #first: Reader;
  readonly #owner: SharedReadOwner;
  #hasFirst = true;
  #isStreaming = false;
  /** Made with the first that joins: most reads have one reader. */
  #joined: Set<JoinedReader> | undefined;
  #flow: NodeFlow | undefined;
  /** Made for an answer that comes in parts: most come whole. */
  #collected: CollectedAnswer | undefined;

  constructor(
    read: NodeRead,
    moment: ReadMoment,
    { first, owner }: Readonly<{ first: Reader; owner: SharedReadOwner }>,
  ) {
    this.read = read;
    this.moment = moment;
    this.#first = first;
    this.#owner = owner;
  }

  /** Asks the node; to be called once, when others may join. */
  start(): void {
    const { pool } = this.#owner;
    const { method, caller, memory, params, traceContext, sender = pool } = this.read;
    this.#flow = sender.send({
      caller,
      memory,
      id: this.#first.id,
      body: callText(this.#first.id, method.name, params),
      timeoutMs: method.timeoutMs,
      repeatable: true,
      traceContext,
      sink: this,
    });
  }

  /** Another caller's equal read: the call to the node has its turns from now on, too. */
  join(reader: Reader, caller: string): AnswerFlow {
    this.#flow?.join(caller);
    const joined = new JoinedReader(reader, (gone) => this.#leave(gone));
    this.#joined ??= new Set();
    this.#joined.add(joined);
    return joined;
  }

  resume(): void {
    if (this.#isStreaming) this.#flow?.resume();
  }

  cancel(): void {
    if (!this.#hasFirst && !this.#isStreaming) return;
    this.#hasFirst = false;
    this.#isStreaming = false;
    this.#first.done("cancelled");
    this.#endUnread();
  }

  /** An answer that nobody else wants is not read at all. */
  whole(body: Buffer): void {
    const answer = this.#isRead ? readAnswer(body.toString("latin1"), this.#first.id) : undefined;
    if (this.moment.isKept && answer?.kind === "result") this.#owner.result(this, answer.json);
    const { first, joined } = this.#close();
    first?.done("answered");
    first?.sink.bytes(body, "node");
    retell(answer, joined);
  }

  text(text: string): void {
    const answer = this.#isRead ? readAnswer(text, this.#first.id) : undefined;
    if (this.moment.isKept && answer?.kind === "result") this.#owner.result(this, ownText(answer.json));
    const { first, joined } = this.#close();
    first?.done("answered");
    first?.sink.text(text, "node");
    retell(answer, joined);
  }

  begin(lengthBytes: number | undefined): void {
    this.#collected = new CollectedAnswer(this.#owner.limitBytes, {
      whole: (body) => this.whole(body),
      fail: (failure) => this.#failed(failure),
      tooLong: (sofar, length) => this.#tooLong(sofar, length),
    });
    this.#collected.begin(lengthBytes);
  }

  chunk(bytes: Buffer): boolean {
    return this.#collected?.chunk(bytes) ?? true;
  }

  end(): void {
    this.#collected?.end();
  }

  fail(failure: NodeFailure): void {
    if (this.#collected === undefined) this.#failed(failure);
    else this.#collected.fail(failure);
  }

  get #isRead(): boolean {
    return this.moment.isKept || (this.#joined?.size ?? 0) > 0;
  }

  #failed(failure: NodeFailure): void {
    const { first, joined } = this.#close();
    if (first !== undefined) tellFailure(first, failure);
    for (const { reader } of joined) tellFailure(reader, failure);
  }

  #tooLong(sofar: readonly Buffer[], lengthBytes: number | undefined): NodeSink | undefined {
    const { first, joined } = this.#close();
    const { method, caller, memory, params, key, traceContext } = this.read;
    const alone = { method, caller, memory, params, key, traceContext };
    for (const left of joined) left.own = this.#owner.alone(alone, left.reader);
    if (first === undefined) {
      this.#flow?.cancel();
      return undefined;
    }
    this.#isStreaming = true;
    const onward = new PassThrough(first);
    onward.begin(lengthBytes);
    for (const bytes of sofar) onward.chunk(bytes);
    return onward;
  }

  #close(): Readonly<{ first: Reader | undefined; joined: Iterable<JoinedReader> }> {
    this.#owner.closed(this);
    const all = { first: this.#hasFirst ? this.#first : undefined, joined: this.#joined ?? [] };
    this.#hasFirst = false;
    this.#joined = undefined;
    return all;
  }

  #leave(gone: JoinedReader): void {
    if (this.#joined?.delete(gone) !== true) return;
    gone.reader.done("cancelled");
    this.#endUnread();
  }

  #endUnread(): void {
    if (this.#hasFirst || (this.#joined?.size ?? 0) > 0) return;
    this.#owner.closed(this);
    this.#flow?.cancel();
  }
}

/** A reader beside the first. When the answer is too long to be shared, it has a call of its own. */
class JoinedReader implements AnswerFlow {
  readonly reader: Reader;
  own: AnswerFlow | undefined;
  readonly #leave: (joined: JoinedReader) => void;

  constructor(reader: Reader, leave: (joined: JoinedReader) => void) {
    this.reader = reader;
    this.#leave = leave;
  }

  resume(): void {
    this.own?.resume();
  }

  cancel(): void {
    if (this.own === undefined) this.#leave(this);
    else this.own.cancel();
  }
}

/** Tells those that share an answer, each under its own id. */
function retell(answer: NodeAnswer | undefined, joined: Iterable<JoinedReader>): void {
  for (const { reader } of joined) tell(reader, retold(answer, reader.id), "coalesced", "coalesced");
}

function tell(reader: Reader, text: string, outcome: ReadOutcome, source: AnswerSource): void {
  reader.done(outcome);
  reader.sink.text(text, source);
}

function tellFailure(reader: Reader, failure: NodeFailure): void {
  tell(reader, errorText(reader.id, nodeFailureErrors[failure]), failure, "gateway");
}

function retold(answer: NodeAnswer | undefined, id: string): string {
  if (answer === undefined) return errorText(id, nodeFailureErrors.badAnswer);
  if (answer.kind === "result") return resultText(id, answer.json);
  return errorJsonText(id, answer.json);
}
