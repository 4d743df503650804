import type { ResponseFailure } from "../errors.ts";
import { ResponseParts, type BodyPartError, type ResponseSink } from "../responses/response-sink.ts";
import { createTurns, type SharedTurns } from "../wire/shared-turns.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import { batchErrorId, type NodeCall, type NodeFlow, type NodeSender } from "./node-call.ts";
import { PieceEntry, type PieceCall } from "./piece-entry.ts";
import { readTypicalResponses, type TypicalResponses, BatchResponseReading, failedInBatch } from "./batch-responses.ts";

/** Max size of one batch's body; geth accepts 5 MiB. */
const bodyBytes = 1_048_576;

export type BatchPieceOptions = Readonly<{ items: number; responseBytes: number }>;

export type BatchPieceDependencies = Readonly<{
  pool: NodeSender;
  turns: SharedTurns;
  /** Called with the reason if the node did not serve the batch as a whole. */
  rejected: (why: string) => void;
  /** Called with the number of calls whose responses fit into the readable part of a batch response. */
  cutAfter: (items: number) => void;
}>;

/**
 * Calls that are sent to the node as one batch. Each gets the response with its id, as if it had been sent alone. Calls that get no
 * response in the batch (because the node accepts no batches, returns one error for all, omits calls, or sends too long a response) are
 * resent individually, which is safe because every call in the batch is read-only.
 */
export class BatchPiece implements ResponseSink {
  readonly #options: BatchPieceOptions;
  readonly #dependencies: BatchPieceDependencies;
  /** Entries in call order, including cancelled ones. */
  readonly #entries: PieceCall[] = [];
  readonly #ids = new Set<string>();
  #waiting = 0;
  #sizeBytes = 0;
  #flow: NodeFlow | undefined;
  /** Callers that joined one of the calls before the piece was sent. */
  readonly #joiners = new Set<string>();
  /** Created when the first part of a response arrives, if it does not arrive whole. */
  #parts: ResponseParts | undefined;
  #memory: HeldBytes | undefined;
  #caller = "";

  constructor(options: BatchPieceOptions, dependencies: BatchPieceDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  /** Returns whether a call fits. An id may occur only once in a batch: nothing else identifies its response. */
  hasRoomFor(id: string, bytes: number): boolean {
    const isSmall = this.#sizeBytes + bytes <= bodyBytes || this.#entries.length === 0;
    return this.#entries.length < this.#options.items && isSmall && !this.#ids.has(id);
  }

  add(call: NodeCall): NodeFlow {
    const entry = new PieceEntry(call, this);
    this.addUnbatched(entry);
    return entry;
  }

  /** Adds a call that serves as its own entry until it is replaced by `exchange`. */
  addUnbatched(call: PieceCall): void {
    this.#entries.push(call);
    this.#ids.add(call.id);
    this.#waiting += 1;
    this.#sizeBytes += call.endsAt - call.startsAt;
  }

  /** Replaces a plain call with an entry; the plain call goes to the node as this entry's call. */
  exchange(plain: PieceCall, call: NodeCall): PieceEntry {
    const entry = new PieceEntry(call, this);
    const position = this.#entries.indexOf(plain);
    if (position !== -1) this.#entries[position] = entry;
    return entry;
  }

  /** Queries the node. Call it once, after the last call has been added. */
  send(): void {
    const left = this.#entries.filter(({ isSettled }) => !isSettled);
    this.#entries.splice(0, this.#entries.length, ...left);
    const [first] = left;
    if (first === undefined) return;
    if (left.length === 1) {
      this.#requestAlone();
      return;
    }
    const { caller, memory, traceContext } = first;
    this.#memory = memory;
    this.#caller = caller;
    const entries = this.#entries;
    this.#flow = this.#dependencies.pool.send({
      caller,
      memory,
      id: batchErrorId,
      // Built on demand: the calls' own texts are retained until their responses arrive, and a second copy would double that memory.
      get body() {
        return joinBodies(entries);
      },
      timeoutMs: left.reduce((longest, { timeoutMs }) => Math.max(longest, timeoutMs), 0),
      repeatable: true,
      traceContext,
      sink: this,
    });
    for (const joinedFlow of this.#joiners) this.#flow.join(joinedFlow);
  }

  /** Records that a call was cancelled. Once all calls are cancelled, the node's response is no longer needed. */
  left(): void {
    this.#waiting -= 1;
    if (this.#waiting > 0) return;
    this.#flow?.cancel();
    this.#parts?.release();
  }

  text(json: string): void {
    this.bytes(Buffer.from(json, "latin1"));
  }

  /** Reads a response that arrived in one read. It is short, and its bytes are overwritten in a later tick. */
  bytes(body: Buffer): void {
    const typical = readTypicalResponses(body, this.#entries);
    if (typical !== undefined) return this.#answerTypical(typical);
    const readResult = this.#read(body, false);
    while (readResult.step() > 0);
    this.#report(readResult);
  }

  begin(lengthBytes: number | undefined): void {
    if ((lengthBytes ?? 0) > this.#options.responseBytes) this.#cut("tooLarge");
  }

  chunk(bytes: Buffer): boolean {
    this.#parts ??= new ResponseParts(this.#options.responseBytes, this.#memory);
    const failure = this.#parts.hold(bytes);
    if (failure !== undefined) this.#cut(failure);
    return true;
  }

  /** Reads a response that arrived in parts. It is long, so it is parsed and delivered in its caller's scheduling rounds. */
  end(): void {
    this.#readInSteps();
  }

  fail(failure: ResponseFailure): void {
    if (failure === "badAnswer") this.#reject("it returned something other than JSON-RPC for a batch");
    else if (failure === "tooLarge") this.#requestAlone();
    else {
      if (failure === "timeout") this.#dependencies.rejected("a batch exceeded the timeout of a call");
      for (const entry of this.#clear()) entry.fail(failure);
    }
  }

  /** Cuts off a response that exceeds the memory limit; its complete elements still count. */
  #cut(why: BodyPartError): void {
    this.#flow?.cancel();
    this.#readInSteps(why);
  }

  #readInSteps(why?: BodyPartError): void {
    const readResult = this.#read(this.#parts?.joined() ?? Buffer.alloc(0), why !== undefined);
    const step = () => {
      const bytes = readResult.step();
      if (bytes === 0) this.#report(readResult, why);
      return bytes;
    };
    const { turns } = this.#dependencies;
    const read = () => createTurns(turns, this.#caller).run(step, () => this.#waiting === 0);
    if (turns.isTickUsedUp()) turns.wait(this.#caller, read);
    else read();
  }

  #read(body: Buffer, cut: boolean): BatchResponseReading {
    return new BatchResponseReading(
      body,
      this.#entries.map(({ id }) => id),
      { cut },
    );
  }

  #answerTypical(answers: TypicalResponses): void {
    const calls = this.#clear();
    let position = 0;
    for (let call = calls[position]; call !== undefined; call = calls[position]) {
      position += call.answerRun(calls, position, answers);
    }
  }

  #report({ answers }: BatchResponseReading, why?: BodyPartError): void {
    const cut = why !== undefined;
    if (answers === undefined && !cut) {
      this.#reject("its batch response does not have one response per call");
      return;
    }
    // The memory available now does not predict the memory available for later responses.
    if (why === "tooLarge") this.#dependencies.cutAfter(answers?.filter((answer) => answer !== undefined).length ?? 0);
    let isLacking = false;
    for (const [position, entry] of this.#clear().entries()) {
      const answer = answers?.[position];
      if (answer !== undefined && answer !== failedInBatch) entry.answer(answer);
      else {
        isLacking ||= answer === undefined && !cut && !entry.isSettled;
        entry.requestAlone(this.#dependencies.pool);
      }
    }
    if (isLacking) this.#dependencies.rejected("it did not respond to all calls of a batch");
  }

  #reject(why: string): void {
    this.#dependencies.rejected(why);
    this.#requestAlone();
  }

  #requestAlone(): void {
    for (const entry of this.#clear()) entry.requestAlone(this.#dependencies.pool);
  }

  /** Returns the calls, and clears the list and the response. */
  #clear(): readonly PieceCall[] {
    this.#parts?.release();
    return this.#entries.splice(0);
  }

  /** Records that another caller waits for one of the calls, and thus for the whole piece. */
  joined(caller: string): void {
    if (this.#flow === undefined) this.#joiners.add(caller);
    else this.#flow.join(caller);
  }
}

/** Joins calls into a batch. Calls that are adjacent in the same text, separated by a comma, are sliced from it together. */
function joinBodies(calls: readonly PieceCall[]): string {
  let batch = "[";
  let from = 0;
  let to = -1;
  let text = "";
  for (const call of calls) {
    if (call.startsAt !== to + 1 || call.text !== text || to === -1) {
      if (to !== -1) batch += `${text.slice(from, to)},`;
      text = call.text;
      from = call.startsAt;
    }
    to = call.endsAt;
  }
  return `${batch}${text.slice(from, to)}]`;
}
