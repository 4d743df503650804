import { explainRejection, TextSink, type RunReceiver } from "../responses/text-sink.ts";
import type { Method } from "../catalogue/method.ts";
import { TypicalCall, type BadCall, type Call } from "../json-rpc/call.ts";
import { copyText, readNodeResponse } from "../json-rpc/read-answer.ts";
import { findMethod, isBatchable, isLimited } from "../policy.ts";
import { ResponseMemory } from "../responses/response-memory.ts";
import type { CoalescedRead } from "../reads/coalesced-read.ts";
import { deriveCacheLifetime, type NodeReads } from "../reads/node-reads.ts";
import type { PieceCall } from "../upstream/piece-entry.ts";
import type { TypicalResponses } from "../upstream/batch-responses.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";
import type { BatchStrategy } from "./batch-strategy.ts";
import type { CallAccounting } from "./call-accounting.ts";
import { CallRecord } from "./call-record.ts";
import { PlainRead, type TickSnapshot, type PlainReadOwner } from "./plain-read.ts";

/**
 * The plain reads in one client's batch, which make up most of its calls: they are valid, cost what their method costs, and go to the node
 * with other calls because neither the cache nor an in-flight read can answer them. Plain reads pass every check of `handleCall` in fewer
 * steps, and are counted together.
 */
export class PlainReads implements PlainReadOwner {
  readonly memory: ResponseMemory;
  readonly caller: string;
  readonly traceContext: TraceContext | undefined;
  readonly #reads: NodeReads;
  readonly #account: CallAccounting;
  readonly #strategy: BatchStrategy;
  readonly #receiver: RunReceiver;
  /** Methods looked up so far, by name; undefined if their calls are never plain reads. */
  readonly #methods = new Map<string, Method | undefined>();
  /** State of the current tick; undefined between ticks, and while no read counts as plain. */
  #snapshot: TickSnapshot | undefined;
  readonly #dropSnapshot = () => {
    this.#snapshot = undefined;
  };

  constructor(account: CallAccounting, strategy: BatchStrategy, receiver: RunReceiver) {
    const { memory, traceContext } = account.message;
    this.memory = new ResponseMemory(memory);
    this.caller = account.key;
    this.traceContext = traceContext;
    this.#reads = account.context.reads;
    this.#account = account;
    this.#strategy = strategy;
    this.#receiver = receiver;
  }

  /** Starts a call if it is a plain read; otherwise does nothing and returns undefined. */
  begin(call: Call | BadCall, slot: number): PlainRead | undefined {
    if (!(call instanceof TypicalCall)) return undefined;
    const snapshot = this.#snapshot ?? this.#takeSnapshot();
    const method = snapshot && this.#findMethod(call.method);
    if (snapshot === undefined || method === undefined) return undefined;
    const account = this.#account;
    if (call.paramsBytes > (method.paramsBytes ?? account.policy.settings.limits.paramsBytes)) return undefined;
    if (isLimited(method, call.params)) return undefined;
    if (this.#reads.mayHave(call.hash, snapshot.generation)) return undefined;
    const lifetime = deriveCacheLifetime(method, call, snapshot.head);
    if (lifetime === "none" || !account.enterPlain(this.#strategy.gate, method, call.kib)) return undefined;
    const read = new PlainRead(call, slot, { method, lifetime, snapshot }, this);
    read.isKept = this.#reads.begin(read);
    read.sentIn(this.#strategy.sender.addUnbatched(read));
    return read;
  }

  answered(read: PlainRead, text: string): void {
    if (read.isKept) this.#keep(read, text);
    this.#end(read, text.length);
    const rejection = explainRejection(this.#receiver, text.length);
    this.#receiver.receive(rejection ?? { text, source: "node", retryAfterSeconds: undefined }, read.slot);
  }

  answeredRun(calls: readonly PieceCall[], from: number, answers: TypicalResponses): number {
    const receiver = this.#receiver;
    let to = from;
    let first = 0;
    for (let call = calls[to]; call instanceof PlainRead && call.belongsTo(this); call = calls[to]) {
      if (to === from) first = call.slot;
      else if (call.slot !== first + to - from) break;
      const bytes = answers.endOf(to) - answers.startOf(to);
      if (
        explainRejection(receiver, bytes) !== undefined ||
        !receiver.hasRoom(first, answers.endOf(to) - answers.startOf(from))
      )
        break;
      to += 1;
    }
    if (to - from < 2) {
      calls[from]?.answer(answers.slice(from, from + 1));
      return 1;
    }
    for (let index = from; index < to; index += 1) {
      const read = calls[index];
      if (!(read instanceof PlainRead)) continue;
      if (read.isKept) this.#keep(read, answers.slice(index, index + 1));
      this.#end(read, answers.endOf(index) - answers.startOf(index));
    }
    receiver.receiveRun(answers.slice(from, to), first, to - from);
    return to - from;
  }

  #keep(read: PlainRead, text: string): void {
    const response = readNodeResponse(text, read.id);
    if (response?.kind === "result") this.#reads.keep(read, copyText(response.json));
  }

  #end(read: PlainRead, answerBytes: number): void {
    this.#reads.end(read);
    this.#account.answered(this.#strategy.gate, read.method, read.snapshot.startedAt, answerBytes);
  }

  share(read: PlainRead): CoalescedRead {
    const { call, snapshot, slot } = read;
    const record = new CallRecord(this.#account, call, new TextSink(this.#receiver, slot));
    record.entered(this.#strategy.gate, snapshot.startedAt);
    record.params = call.params;
    record.wire = call.wire;
    record.key = read.key;
    record.hash = read.hash;
    record.sender = this.#strategy.sender;
    return this.#reads.share(read, record);
  }

  /** Takes the snapshot for the rest of this tick; returns undefined if no read counts as plain in it. */
  #takeSnapshot(): TickSnapshot | undefined {
    const { fitness, limiter, now } = this.#account.context;
    if (fitness.current !== "fit" || limiter.acquireNow === undefined || !this.#strategy.isGrouped()) return undefined;
    this.#snapshot = { ...this.#reads.snapshot(), startedAt: now() };
    queueMicrotask(this.#dropSnapshot);
    return this.#snapshot;
  }

  /** Returns the method with this name if calls to it may be plain reads. */
  #findMethod(name: string): Method | undefined {
    const known = this.#methods.get(name);
    if (known !== undefined || this.#methods.has(name)) return known;
    const { policy, tier, message } = this.#account;
    const method = findMethod(policy, tier, name, message.caller.listener);
    const found = method !== undefined && this.#isPlain(method) ? method : undefined;
    this.#methods.set(name, found);
    return found;
  }

  /** Whether a method is in the catalogue and calls to it, except those that specify gas, go to the node unchanged and can be batched and cached. */
  #isPlain(method: Method): boolean {
    const { policy } = this.#account;
    const goesToNode = method.answeredBy === "node" && method.constant === undefined && method.webSocketOnly !== true;
    const isUnchecked = (method.limit?.kind ?? "gas") === "gas" && method.cache.kind !== "none";
    const isKnown = policy.catalogue.has(method.name);
    return goesToNode && isUnchecked && isKnown && isBatchable(policy, method, method.costUnits);
  }
}
