import { errorText } from "../envelope/answer-text.ts";
import { failureError } from "../upstream/failure-error.ts";
import type { NodeFailure, NodeSink } from "../upstream/node-call.ts";
import type { AnswerSink } from "./answer-sink.ts";

/** What became of a call to the node. */
export type NodeOutcome = "answered" | "coalesced" | "cancelled" | NodeFailure;

/** Hands the node's bytes on to a client as they come, unread; `done` is called once, when nothing more comes. */
export function passThrough(id: string, sink: AnswerSink, done: (outcome: NodeOutcome) => void): NodeSink {
  let begun = false;
  return {
    whole: (body) => {
      done("answered");
      sink.bytes(body, "node");
    },
    begin: (lengthBytes) => {
      begun = true;
      sink.begin(lengthBytes, "node");
    },
    chunk: sink.chunk,
    end: () => {
      done("answered");
      sink.end();
    },
    fail: (failure) => {
      done(failure);
      if (begun) sink.broken();
      else sink.text(errorText(id, failureError(failure)), "gateway");
    },
  };
}
