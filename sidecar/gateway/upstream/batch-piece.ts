import type { HeldBytes } from "../memory/connection-memory.ts";
import type { NodeCall, NodeFailure, NodeFlow, NodeSender, NodeSink } from "./node-call.ts";
import { isBatchError, readBatchAnswer } from "./read-batch-answer.ts";

/** Most bytes of one batch's body; geth takes 5 MiB. */
const bodyBytes = 1_048_576;

/** Bounds of a piece. */
export type BatchPieceOptions = Readonly<{ items: number; responseBytes: number }>;

/** What a piece is made with. */
export type BatchPieceDependencies = Readonly<{
  pool: NodeSender;
  /** The node did not serve the batch as one, for this reason. */
  refused: (why: string) => void;
  /** So many calls were answered in as much as may be read of a batch's answer. */
  cutAfter: (items: number) => void;
}>;

/**
 * Calls that go to the node as one batch. Each gets the answer that bears its id, as if it had come alone. What the node does not answer in the
 * batch (it takes none, answers one error for all, leaves calls out, or its answer grows too long) is asked again alone: every call in
 * it is a mere question.
 */
export class BatchPiece implements NodeSink {
  readonly #options: BatchPieceOptions;
  readonly #dependencies: BatchPieceDependencies;
  readonly #entries = new Map<string, PieceEntry>();
  /** Ids that the node was asked for, also of calls that were given up since. */
  #asked: ReadonlySet<string> = new Set();
  #sizeBytes = 0;
  #flow: NodeFlow | undefined;
  #parts: Buffer[] = [];
  #partsBytes = 0;
  #memory: HeldBytes | undefined;

  constructor(options: BatchPieceOptions, dependencies: BatchPieceDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  /** Whether a call fits in. An id stands in a batch once: its answer is known by nothing else. */
  hasRoomFor({ id, body }: NodeCall): boolean {
    const isSmall = this.#sizeBytes + body.length <= bodyBytes || this.#entries.size === 0;
    return this.#entries.size < this.#options.items && isSmall && !this.#entries.has(id);
  }

  add(call: NodeCall): NodeFlow {
    const entry = new PieceEntry(call, () => this.#leave(entry));
    this.#entries.set(call.id, entry);
    this.#sizeBytes += call.body.length;
    return entry;
  }

  /** Asks the node; to be called once, when no more calls come. */
  send(): void {
    const entries = [...this.#entries.values()];
    const [first] = entries;
    if (first === undefined) return;
    if (entries.length === 1) this.#askAlone();
    else {
      this.#memory = first.call.memory;
      this.#asked = new Set(this.#entries.keys());
      this.#flow = this.#dependencies.pool.send({
        caller: first.call.caller,
        memory: first.call.memory,
        id: "null",
        body: `[${entries.map(({ call }) => call.body).join(",")}]`,
        timeoutMs: Math.max(...entries.map(({ call }) => call.timeoutMs)),
        repeatable: true,
        traceContext: first.call.traceContext,
        sink: this,
      });
    }
  }

  whole(body: Buffer): void {
    this.#take(body);
  }

  begin(lengthBytes: number | undefined): void {
    if ((lengthBytes ?? 0) > this.#options.responseBytes) this.#cut("tooLong");
  }

  chunk(bytes: Buffer): boolean {
    this.#parts.push(bytes);
    this.#partsBytes += bytes.length;
    const isHeld = this.#memory?.hold(bytes.length) ?? true;
    if (this.#partsBytes > this.#options.responseBytes) this.#cut("tooLong");
    else if (!isHeld) this.#cut("tooMuchHeld");
    return true;
  }

  end(): void {
    this.#take(Buffer.concat(this.#parts));
  }

  fail(failure: NodeFailure): void {
    this.#letGo();
    if (failure === "badAnswer") this.#refuse("it answers a batch with something other than JSON-RPC");
    else if (failure === "tooLarge") this.#askAlone();
    else {
      if (failure === "timeout") this.#dependencies.refused("a batch took longer than a call may");
      for (const entry of this.#taken()) entry.call.sink.fail(failure);
    }
  }

  /** The answer is longer than may be held: what of it came whole counts. */
  #cut(why: "tooLong" | "tooMuchHeld"): void {
    this.#flow?.cancel();
    this.#take(Buffer.concat(this.#parts), why);
  }

  #letGo(): void {
    this.#memory?.give(this.#partsBytes);
    this.#parts = [];
    this.#partsBytes = 0;
  }

  #take(body: Buffer, why?: "tooLong" | "tooMuchHeld"): void {
    this.#letGo();
    const cut = why !== undefined;
    const answers = readBatchAnswer(body, this.#asked, { cut });
    if (answers === undefined && !cut) {
      this.#refuse("it answers a batch with something other than an answer to each call");
      return;
    }
    // What one caller may hold says nothing of the node, whose batches are everybody's.
    if (why === "tooLong") this.#dependencies.cutAfter(answers?.size ?? 0);
    let isLacking = false;
    for (const entry of this.#taken()) {
      const answer = answers?.get(entry.call.id);
      if (answer !== undefined && !isBatchError(answer)) entry.call.sink.whole(answer);
      else {
        isLacking ||= answer === undefined && !cut;
        entry.askAlone(this.#dependencies.pool);
      }
    }
    if (isLacking) this.#dependencies.refused("it leaves calls of a batch unanswered");
  }

  #refuse(why: string): void {
    this.#dependencies.refused(why);
    this.#askAlone();
  }

  #askAlone(): void {
    for (const entry of this.#taken()) entry.askAlone(this.#dependencies.pool);
  }

  /** The calls that still wait for an answer, out of this piece's hands. */
  #taken(): readonly PieceEntry[] {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    return entries;
  }

  #leave(entry: PieceEntry): void {
    if (this.#entries.get(entry.call.id) !== entry) return;
    this.#entries.delete(entry.call.id);
    if (this.#entries.size === 0) this.#flow?.cancel();
  }
}

/** One call in a piece; when it is asked again alone, it steers that. */
class PieceEntry implements NodeFlow {
  readonly call: NodeCall;
  readonly #leave: () => void;
  #isGone = false;
  #own: NodeFlow | undefined;

  constructor(call: NodeCall, leave: () => void) {
    this.call = call;
    this.#leave = leave;
  }

  askAlone(pool: NodeSender): void {
    if (!this.#isGone) this.#own = pool.send(this.call);
  }

  resume(): void {
    this.#own?.resume();
  }

  cancel(): void {
    this.#isGone = true;
    this.#leave();
    this.#own?.cancel();
  }
}
