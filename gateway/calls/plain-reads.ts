import { explainRefusal, TextSink, type RunReceiver } from "../responses/text-sink.ts";
import type { Method } from "../catalogue/method.ts";
import { mayNameGas } from "../limits/call-gas.ts";
import type { ChainHead } from "../chain/head.ts";
import { TypicalCall, type BadCall, type Call } from "../json-rpc/call.ts";
import { copyText, readAnswer } from "../json-rpc/read-answer.ts";
import { runsCode } from "../limits/node-time.ts";
import type { CallGate } from "../limits/load-gate.ts";
import { HeldScope } from "../memory/held-scope.ts";
import { deriveCacheLifetime, deriveHeadLifetime, type CacheLifetime } from "../reads/cache/cache-lifetime.ts";
import type { CoalescedRead } from "../reads/coalesced-read.ts";
import type { PlainNodeReads } from "../reads/node-reads.ts";
import type { NodeBatch } from "../upstream/node-batches.ts";
import type { PieceCall } from "../upstream/piece-entry.ts";
import type { TypicalResponses } from "../upstream/typical-responses.ts";
import type { TraceContext } from "#daemon/http/trace-context.ts";
import type { CallContext, CallDependencies } from "./call-context.ts";
import { CallRecord } from "./call-record.ts";
import { leastOwedBytes, chargeResponse } from "./answer-call.ts";
import { PlainMoment } from "./plain-moment.ts";
import { PlainRead, type PlainReadOwner } from "./plain-read.ts";

/** Dependencies shared by all plain reads of a gateway. */
export type PlainReadsDependencies = CallDependencies & Readonly<{ plain: PlainNodeReads }>;

/** How one client's batch reaches the node. */
export type PlainExposure = Readonly<{ toNode: NodeBatch; gate: CallGate; isGrouped: () => boolean }>;

/**
 * The plain reads in one client's batch, which make up most of its calls: they are valid, cost what their method costs, and go to the node
 * with other calls because neither the cache nor an in-flight read can answer them. They pass every check that `createCallHandler` makes,
 * in fewer steps, and are counted together.
 */
export class PlainReads implements PlainReadOwner {
  readonly memory: HeldScope;
  readonly #dependencies: PlainReadsDependencies;
  readonly #context: CallContext;
  readonly #way: PlainExposure;
  readonly #receiver: RunReceiver;
  /** Undefined between ticks, and while no read is plain. */
  #moment: PlainMoment | undefined;
  readonly #leaveMoment = () => {
    this.#moment = undefined;
  };
  /** Number of reads that are answered but not yet counted, by method, and the snapshot they started with. */
  readonly #answered = new Map<Method, number>();
  #answeredFrom: PlainMoment | undefined;
  readonly #count = () => this.#countAnswered();

  constructor(dependencies: PlainReadsDependencies, context: CallContext, way: PlainExposure, receiver: RunReceiver) {
    this.memory = new HeldScope(context.memory);
    this.#dependencies = dependencies;
    this.#context = context;
    this.#way = way;
    this.#receiver = receiver;
  }

  get caller(): string {
    return this.#context.caller.key;
  }

  get traceContext(): TraceContext | undefined {
    return this.#context.traceContext;
  }

  /** Starts a call if it is a plain read; otherwise does nothing and returns undefined. */
  begin(call: Call | BadCall, place: number): PlainRead | undefined {
    if (!(call instanceof TypicalCall)) return undefined;
    const moment = this.#moment ?? this.#enterMoment();
    const method = moment?.find(call.method);
    if (moment === undefined || method === undefined) return undefined;
    const { policy, generation } = moment;
    if (call.paramsBytes > (method.paramsBytes ?? policy.settings.limits.paramsBytes)) return undefined;
    if (method.limit !== undefined && mayNameGas(call.params)) return undefined;
    const { plain } = this.#dependencies;
    if (plain.mayHave(call.hash, generation)) return undefined;
    const lifetime = deriveLifetime(call, method, moment.head);
    if (lifetime === "none" || !this.#mayGo(moment, method, call.kib)) return undefined;
    const read = new PlainRead(call, place, { method, lifetime, moment }, this);
    read.isKept = plain.begin(read);
    read.sentIn(this.#way.toNode.addPlain(read));
    return read;
  }

  answered(read: PlainRead, text: string): void {
    if (read.isKept) this.#keep(read, text);
    this.#end(read, text.length);
    const refusal = explainRefusal(this.#receiver, text.length);
    this.#receiver.receive(refusal ?? { text, source: "node", retryAfterSeconds: undefined }, read.place);
  }

  answeredRun(calls: readonly PieceCall[], from: number, answers: TypicalResponses): number {
    const receiver = this.#receiver;
    let to = from;
    let first = 0;
    for (let call = calls[to]; call instanceof PlainRead && call.isOf(this); call = calls[to]) {
      if (to === from) first = call.place;
      else if (call.place !== first + to - from) break;
      const bytes = answers.endOf(to) - answers.startOf(to);
      if (
        explainRefusal(receiver, bytes) !== undefined ||
        !receiver.hasRoom(first, answers.endOf(to) - answers.startOf(from))
      )
        break;
      to += 1;
    }
    if (to - from < 2) {
      calls[from]?.answer(answers.slice(from, from + 1));
      return 1;
    }
    for (let place = from; place < to; place += 1) {
      const read = calls[place];
      if (!(read instanceof PlainRead)) continue;
      if (read.isKept) this.#keep(read, answers.slice(place, place + 1));
      this.#end(read, answers.endOf(place) - answers.startOf(place));
    }
    receiver.receiveRun(answers.slice(from, to), first, to - from);
    return to - from;
  }

  #keep(read: PlainRead, text: string): void {
    const answer = readAnswer(text, read.id);
    if (answer?.kind === "result") this.#dependencies.plain.keep(read, copyText(answer.json));
  }

  /** Ends a read whose response has arrived; it is counted later. */
  #end(read: PlainRead, answerBytes: number): void {
    const { plain, limiter } = this.#dependencies;
    const { moment, method } = read;
    plain.end(read);
    this.#way.gate.leave(this.caller, method.costUnits, moment.policy.settings.overload);
    if (this.#answeredFrom !== moment) this.#countAnswered();
    if (this.#answeredFrom === undefined) queueMicrotask(this.#count);
    this.#answeredFrom = moment;
    this.#answered.set(method, (this.#answered.get(method) ?? 0) + 1);
    if (answerBytes >= leastOwedBytes) chargeResponse(limiter, answerBytes, this.caller, moment);
    if (!runsCode(method)) return;
    const { tier, startedAt, policy } = moment;
    const call = { caller: this.caller, tier, startedAt, endedAt: this.#dependencies.now() };
    this.#context.batch?.nodeTime.charge(call, policy.settings.rateLimit, limiter);
  }

  share(read: PlainRead): CoalescedRead {
    const { call, moment, place } = read;
    const client = new TextSink(this.#receiver, place);
    const record = new CallRecord(this.#dependencies, call, this.#context, client, moment.policy);
    record.takeOver(this.#way.gate, moment.startedAt);
    record.params = call.params;
    record.wire = call.wire;
    record.key = read.key;
    record.sender = this.#way.toNode;
    return this.#dependencies.plain.share(read, record);
  }

  /** Takes the snapshot for the rest of this tick; returns undefined if no read is plain in this tick. */
  #enterMoment(): PlainMoment | undefined {
    const { policy, plain, nodeFitness, limiter, now } = this.#dependencies;
    if (nodeFitness() !== "fit" || limiter.acquireNow === undefined || !this.#way.isGrouped()) return undefined;
    this.#moment = new PlainMoment(policy(), this.#context.caller, { ...plain.moment(), startedAt: now() });
    queueMicrotask(this.#leaveMoment);
    return this.#moment;
  }

  /** Admits a read to the node and charges for it, or does neither; the regular handler then reports the reason. */
  #mayGo({ policy, tier }: PlainMoment, method: Method, kib: number): boolean {
    const { rateLimit, overload } = policy.settings;
    const { gate } = this.#way;
    if (gate.enter(this.caller, tier, method.costUnits, overload) !== undefined) return false;
    if (!rateLimit.enabled) return true;
    const units = method.costUnits + (this.#context.hasPaidBytes === true ? 0 : kib * rateLimit.unitsPerKiB);
    if (this.#dependencies.limiter.acquireNow?.(this.caller, units, tier) === undefined) {
      if (runsCode(method)) this.#context.batch?.nodeTime.pay(method.costUnits);
      return true;
    }
    gate.leave(this.caller, method.costUnits, overload);
    return false;
  }

  #countAnswered(): void {
    const moment = this.#answeredFrom;
    if (moment === undefined) return;
    this.#answeredFrom = undefined;
    const { meter, now } = this.#dependencies;
    const { caller, startedAt, requestId } = this.#context;
    const endedAt = now();
    const { traceContext } = this;
    const seconds = (endedAt - startedAt) / 1_000;
    for (const [{ name: method }, count] of this.#answered) {
      meter.node(method, (endedAt - moment.startedAt) / 1_000, undefined, count);
      meter.call({ method, tier: caller.tierName, outcome: "node", seconds, requestId, traceContext }, count);
    }
    this.#answered.clear();
  }
}

/** Derives how long the response may be cached. Handles most reads, those of the latest block, without parsing the block parameter. */
function deriveLifetime(call: TypicalCall, method: Method, head: ChainHead | undefined): CacheLifetime {
  const { cache } = method;
  if (cache.kind === "block" && call.hasLastParam(cache.at, '"latest"')) return deriveHeadLifetime(head);
  return deriveCacheLifetime(method, call.params, head);
}
