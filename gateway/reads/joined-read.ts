import type { ResponseFlow } from "../answers/answer-sink.ts";
import { nodeFailureErrors } from "../errors.ts";
import {
  formatErrorJsonResponse,
  formatErrorResponse,
  formatResultResponse,
  type NodeResponse,
} from "../json-rpc/read-answer.ts";
import { notify, type NodeRead } from "./node-read.ts";

/** A read that joined the first reader of a call to the node. It becomes a separate call if the response is too long to be shared. */
export class JoinedRead implements ResponseFlow {
  readonly read: NodeRead;
  own: ResponseFlow | undefined;
  readonly #leave: (joined: JoinedRead) => void;

  constructor(read: NodeRead, leave: (joined: JoinedRead) => void) {
    this.read = read;
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

/** Sends a shared response to its readers, each under its own id. */
export function notifyJoined(answer: NodeResponse | undefined, joined: Iterable<JoinedRead>): void {
  for (const { read } of joined) notify(read, formatAnswer(answer, read.id), "coalesced", "coalesced");
}

function formatAnswer(answer: NodeResponse | undefined, id: string): string {
  if (answer === undefined) return formatErrorResponse(id, nodeFailureErrors.badAnswer);
  if (answer.kind === "result") return formatResultResponse(id, answer.json);
  return formatErrorJsonResponse(id, answer.json);
}
