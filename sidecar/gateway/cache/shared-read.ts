import { callText, errorText, resultText } from "../envelope/answer-text.ts";
import { readAnswer, type NodeAnswer } from "../envelope/read-answer.ts";
import type { AnswerFlow, AnswerSink, AnswerSource } from "../dispatch/answer-sink.ts";
import { collectAnswer } from "../dispatch/collected-answer.ts";
import { passThrough, type NodeOutcome } from "../dispatch/pass-through.ts";
import { failureError } from "../upstream/failure-error.ts";
import type { NodeFailure } from "../upstream/node-call.ts";
import type { NodeFlow, NodePool } from "../upstream/node-pool.ts";
import type { TraceContext } from "../observe/trace-context.ts";

/** One client's part in a read. */
export type Reader = Readonly<{
  id: string;
  sink: AnswerSink;
  /** Called once, when nothing more comes. */
  done: (outcome: NodeOutcome) => void;
}>;

/** A read that several clients may share. */
export type SharedReadOptions = Readonly<{
  method: string;
  params: string;
  timeoutMs: number;
  /** Largest answer that is shared. */
  limitBytes: number;
  traceContext: TraceContext | undefined;
}>;

/** What a shared read tells its owner. */
export type SharedReadEvents = Readonly<{
  /** Nobody can join any more. */
  closed: () => void;
  /** The node's result, for the cache. */
  result: (json: string) => void;
  /** Serves a reader by a call of its own, because the answer is too long to be shared. */
  alone: (reader: Reader) => AnswerFlow;
}>;

/** One call to the node that answers several equal reads. */
export type SharedRead = Readonly<{ join: (reader: Reader) => AnswerFlow }>;

/**
 * Starts a read for its first reader. Each reader gets its own id; the first one gets the node's bytes as they are, and
 * streamed when they are more than can be shared. The call ends when its last reader goes.
 */
export function startSharedRead(
  options: SharedReadOptions,
  first: Reader,
  { pool, events }: Readonly<{ pool: NodePool; events: SharedReadEvents }>,
): SharedRead & Readonly<{ flow: AnswerFlow }> {
  const readers = new Set<Reader>();
  const ownFlows = new Map<Reader, AnswerFlow>();
  const carriedId = first.id;
  let streamsTo: Reader | undefined;
  let flow: NodeFlow | undefined;

  const close = () => {
    events.closed();
    const all = [...readers];
    readers.clear();
    return all;
  };
  const whole = (text: string) => {
    const read = readAnswer(text, carriedId);
    if (read?.kind === "result") events.result(read.json);
    for (const reader of close()) {
      if (reader === first) tell(reader, text, "answered", "node");
      else tell(reader, retold(read, reader.id), "coalesced", "coalesced");
    }
  };
  const fail = (failure: NodeFailure) => {
    for (const reader of close()) tell(reader, errorText(reader.id, failureError(failure)), failure, "gateway");
  };
  const tooLong = (sofar: readonly Buffer[], lengthBytes: number | undefined) => {
    const all = close();
    for (const reader of all) if (reader !== first) ownFlows.set(reader, events.alone(reader));
    if (!all.includes(first)) {
      flow?.cancel();
      return undefined;
    }
    streamsTo = first;
    const onward = passThrough(first.id, first.sink, first.done);
    onward.begin(lengthBytes);
    for (const bytes of sofar) onward.chunk(bytes);
    return onward;
  };
  const join = (reader: Reader): AnswerFlow => {
    readers.add(reader);
    return {
      resume: () => {
        ownFlows.get(reader)?.resume();
        if (streamsTo === reader) flow?.resume();
      },
      cancel: () => {
        ownFlows.get(reader)?.cancel();
        if (!readers.delete(reader) && streamsTo !== reader) return;
        streamsTo = undefined;
        reader.done("cancelled");
        if (readers.size > 0) return;
        events.closed();
        flow?.cancel();
      },
    };
  };

  const firstFlow = join(first);
  flow = pool.send({
    body: callText(carriedId, options.method, options.params),
    timeoutMs: options.timeoutMs,
    repeatable: true,
    traceContext: options.traceContext,
    sink: collectAnswer(options.limitBytes, { whole, fail, tooLong }),
  });
  return { join, flow: firstFlow };
}

function tell({ done, sink }: Reader, text: string, outcome: NodeOutcome, source: AnswerSource): void {
  done(outcome);
  sink.text(text, source);
}

function retold(answer: NodeAnswer | undefined, id: string): string {
  if (answer === undefined) return errorText(id, failureError("badAnswer"));
  if (answer.kind === "result") return resultText(id, answer.json);
  return `{"jsonrpc":"2.0","id":${id},"error":${answer.json}}`;
}
