import type { Method } from "../catalogue/method.ts";
import { errorText, resultText } from "../envelope/answer-text.ts";
import { readAnswer } from "../envelope/read-answer.ts";
import { rpcErrors } from "../envelope/rpc-error.ts";
import { failureError } from "../upstream/failure-error.ts";
import type { AnswerFlow, AnswerSink } from "./answer-sink.ts";
import type { NodeReads } from "./node-reads.ts";
import { textSink } from "./text-sink.ts";

/** A range in permitted pieces, each with its own parameters. */
export type SplitOptions = Readonly<{
  method: Method;
  pieces: readonly string[];
  /** Pieces that are asked for at a time. */
  parallel: number;
  /** Bytes of the joined answer. */
  limitBytes: number;
}>;

type Asking = Readonly<{ id: string; sink: AnswerSink; reads: NodeReads; traceparent: string | undefined }>;

const pieceId = "1";

/**
 * Reads the pieces of a range and answers with their results, arrays, as one array in the range's order. The first piece that
 * fails fails the whole. `done` is called once.
 */
export function readSplit(
  { method, pieces, parallel, limitBytes }: SplitOptions,
  { id, sink, reads, traceparent }: Asking,
  done: (outcome: "node" | "failed" | "cancelled") => void,
): AnswerFlow {
  const results = Array.from({ length: pieces.length }, () => "");
  const flows = new Map<number, AnswerFlow>();
  let next = 0;
  let answered = 0;
  let size = 0;
  const settled = new Set<number>();
  const state = { isOver: false };

  const finish = (outcome: "node" | "failed" | "cancelled") => {
    state.isOver = true;
    for (const flow of flows.values()) flow.cancel();
    flows.clear();
    done(outcome);
  };
  const fail = (text: string) => {
    if (state.isOver) return;
    finish("failed");
    sink.text(text, "gateway");
  };
  const take = (place: number, text: string) => {
    const answer = readAnswer(text, pieceId);
    if (answer?.kind === "error") return fail(`{"jsonrpc":"2.0","id":${id},"error":${answer.json}}`);
    const elements = /^\s*\[([^]*)\]\s*$/.exec(answer?.json ?? "")?.[1]?.trim();
    if (elements === undefined) return fail(errorText(id, failureError("badAnswer")));
    results[place] = elements;
    size += elements.length;
    answered += 1;
    if (size > limitBytes) return fail(errorText(id, rpcErrors.responseTooLarge));
    if (answered < pieces.length) return start();
    finish("node");
    const joined = results.filter((part) => part !== "").join(",");
    return sink.text(resultText(id, `[${joined}]`), "node");
  };
  const ask = (place: number) => {
    const pieceSink = textSink(limitBytes, (answer) => {
      flows.delete(place);
      settled.add(place);
      if (state.isOver) return;
      if (typeof answer === "string")
        fail(errorText(id, failureError(answer === "tooLong" ? "tooLarge" : "unavailable")));
      else take(place, answer.text);
    });
    const params = pieces[place] ?? "[]";
    const cached = reads.cached(method.name, params);
    if (cached !== undefined) {
      take(place, resultText(pieceId, cached));
      return;
    }
    const reader = { id: pieceId, sink: pieceSink, done: () => undefined };
    const flow = reads.read({ method, params, traceparent }, reader);
    if (!settled.has(place) && !state.isOver) flows.set(place, flow);
  };
  const start = () => {
    while (next < pieces.length && flows.size < parallel && !state.isOver) {
      next += 1;
      ask(next - 1);
    }
  };
  start();
  return {
    resume: () => undefined,
    cancel: () => {
      if (!state.isOver) finish("cancelled");
    },
  };
}
