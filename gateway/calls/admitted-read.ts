import { knownParamsBytes } from "../reads/cache/cache-scope.ts";
import type { Method } from "../catalogue/method.ts";
import { resultText } from "../json-rpc/answer-text.ts";
import { rpcErrors, tooManyCalls, type RpcError } from "../errors.ts";
import type { LoadGate } from "../limits/load-gate.ts";
import type { HeldBytes } from "../memory/connection-memory.ts";
import { HeldScope } from "../memory/held-scope.ts";
import type { CallOutcome } from "../observe/meter.ts";
import type { PolicySettings } from "../settings/policy.ts";
import { finishedFlow, type AnswerFlow, type AnswerSink } from "../answers/answer-sink.ts";
import { ended, labelOf, limited, unanswered } from "./call-end.ts";
import type { CallContext, Work } from "./call-work.ts";
import type { NodeRead } from "../reads/node-read.ts";
import type { ReadOutcome, Reader } from "../reads/reader.ts";
import { readSplit } from "../reads/split-read.ts";
import type { NodeSender } from "../upstream/node-call.ts";
import type { TraceContext } from "../wire/trace-context.ts";

type Overload = PolicySettings["overload"];

/** Answers a checked call from the cache, or lets it to the node when there is room. `key` is the `callKey` of the two. */
export function readOne(work: Work, method: Method, params: string, key: string): AnswerFlow {
  const { context, dependencies } = work;
  const { reads } = dependencies;
  const { overload } = work.policy.settings;
  const unfit = whyUnfit(work, method);
  const cached = params.length > knownParamsBytes ? undefined : cachedAnswer(reads, { method, key, unfit });
  if (cached !== undefined) {
    ended(work, "cache");
    work.sink.text(resultText(work.id, cached), "cache");
    return finishedFlow;
  }
  if (unfit !== undefined) return unanswered(work, unfit);
  const batch = isBatchable(method, overload) ? context.batch : undefined;
  const gate = batch?.gate ?? dependencies.gate;
  const refusal = gate.enter(context.caller.key, work.tier, method.costUnits, overload);
  if (refusal === "concurrency") {
    return limited(work, tooManyCalls(work.tier.concurrency), 1, "concurrency");
  }
  if (refusal === "overload") {
    return limited(work, rpcErrors.overload, overload.retryAfterSeconds, "overload");
  }
  const read = new AdmittedRead(work, gate, { method, params, key, sender: batch?.sender });
  return reads.read(read, read);
}

/**
 * Whether calls of a method go to the node in one batch with others of theirs: what may be asked twice and is not heavy. A node may answer
 * a batch one call after the other; heavy calls would wait for each other.
 */
export function isBatchable({ repeatable, costUnits }: Method, { heavyCostUnits }: Overload): boolean {
  return repeatable && costUnits < heavyCostUnits;
}

/** A read that was let to the node, its caller's part in it, and what is held for it meanwhile: one object, because a batch has many. */
class AdmittedRead implements NodeRead, Reader, HeldBytes {
  readonly id: string;
  readonly sink: AnswerSink;
  readonly method: Method;
  readonly caller: string;
  readonly params: string;
  readonly key: string;
  readonly traceContext: TraceContext | undefined;
  readonly sender: NodeSender | undefined;
  readonly #work: Work;
  readonly #gate: LoadGate;
  readonly #askedAt: number;
  #heldBytes = 0;
  #isDone = false;

  constructor(work: Work, gate: LoadGate, read: Pick<NodeRead, "method" | "params" | "key" | "sender">) {
    this.id = work.id;
    this.sink = work.sink;
    this.method = read.method;
    this.caller = work.context.caller.key;
    this.params = read.params;
    this.key = read.key;
    this.traceContext = traceContextOf(work.context);
    this.sender = read.sender;
    this.#work = work;
    this.#gate = gate;
    this.#askedAt = work.dependencies.now();
  }

  get memory(): HeldBytes {
    return this;
  }

  take(bytes: number): boolean {
    if (this.#isDone || !this.#work.context.memory.take(bytes)) return false;
    this.#heldBytes += bytes;
    return true;
  }

  hold(bytes: number): boolean {
    if (this.#isDone) return true;
    this.#heldBytes += bytes;
    return this.#work.context.memory.hold(bytes);
  }

  give(bytes: number): void {
    if (this.#isDone) return;
    this.#heldBytes -= bytes;
    this.#work.context.memory.give(bytes);
  }

  /** Gives its place back, and what is held. */
  leave(): void {
    const { context, policy } = this.#work;
    if (this.#heldBytes > 0) this.give(this.#heldBytes);
    this.#isDone = true;
    this.#gate.leave(context.caller.key, this.method.costUnits, policy.settings.overload);
  }

  done(outcome: ReadOutcome): void {
    if (this.#isDone) return;
    this.leave();
    const { dependencies } = this.#work;
    const endedAt = dependencies.now();
    // A reader that shared another's call has no time of the node's own, and one that went leaves it unknown.
    if (outcome !== "coalesced" && outcome !== "cancelled") {
      dependencies.meter.node(labelOf(this.#work), (endedAt - this.#askedAt) / 1_000);
    }
    ended(this.#work, callOutcome(outcome), endedAt);
  }
}

/** What can't change is right without the node; of a node on another chain even that is not known to be this chain's. */
function cachedAnswer(
  reads: Work["dependencies"]["reads"],
  { method, key, unfit }: Readonly<{ method: Method; key: string; unfit: RpcError | undefined }>,
) {
  if (unfit === undefined) return reads.cached(method, key);
  return unfit === rpcErrors.anotherChain ? undefined : reads.lasting(method, key);
}

/** Why the node is not to be asked; undefined when it is. */
export function whyUnfit({ dependencies, policy }: Work, method: Method): RpcError | undefined {
  const fitness = dependencies.nodeFitness();
  if (fitness === "fit") return undefined;
  if (fitness === "down") return rpcErrors.nodeUnavailable;
  if (fitness === "anotherChain") return rpcErrors.anotherChain;
  return method.whileBehind === true || policy.settings.behind.reads === "serve" ? undefined : rpcErrors.nodeBehind;
}

/** The trace context that goes on to the node: the client's own, unless the call is traced here. */
function traceContextOf({ trace, traceContext }: CallContext): TraceContext | undefined {
  return trace === undefined ? traceContext : trace.requestNode();
}

function callOutcome(outcome: ReadOutcome): CallOutcome {
  if (outcome === "answered") return "node";
  return outcome === "coalesced" || outcome === "cancelled" ? outcome : "failed";
}

/** Reads a range in pieces. It is charged as that many calls, and takes one place among those under way. */
export function readInPieces(work: Work, method: Method, pieces: readonly string[]): AnswerFlow {
  const unfit = whyUnfit(work, method);
  if (unfit !== undefined) return unanswered(work, unfit);
  const { key } = work.context.caller;
  const { reads, gate } = work.dependencies;
  const { overload, ranges, limits } = work.policy.settings;
  const refusal = gate.enter(key, work.tier, method.costUnits, overload);
  if (refusal !== undefined) {
    return limited(work, rpcErrors.overload, overload.retryAfterSeconds, refusal);
  }
  const memory = new HeldScope(work.context.memory);
  return readSplit(
    { method, pieces, parallel: ranges.splitParallel, limitBytes: limits.batchResponseBytes },
    { id: work.id, caller: key, sink: work.sink, reads, memory, traceContext: traceContextOf(work.context) },
    (outcome) => {
      memory[Symbol.dispose]();
      gate.leave(key, method.costUnits, overload);
      ended(work, outcome);
    },
  );
}
