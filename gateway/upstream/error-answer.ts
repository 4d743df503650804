import type { NodeFailure } from "../errors.ts";
import { errorJsonText } from "../json-rpc/answer-text.ts";
import { readObject } from "../json-rpc/read-object.ts";
import type { NodeCall, NodeSink } from "./node-call.ts";
import type { ResponseHead } from "./response-head.ts";

/** Largest body outside HTTP 200 that is read for the JSON-RPC error in it; revert data is the longest that nodes put there. */
export const errorBytes = 1_048_576;

/**
 * Takes the body of a response outside HTTP 200. Some nodes answer JSON-RPC errors with 4xx or 5xx: such an error goes to the
 * caller as it stands, under the call's own id. Anything else is the failure that the status says. Undefined when the body
 * can't hold an error, or not one that is small enough.
 */
export function errorAnswer(
  { id, sink }: Pick<NodeCall, "id" | "sink">,
  { status, lengthBytes = 0 }: ResponseHead,
  failure: NodeFailure,
): NodeSink | undefined {
  if (status < 400 || lengthBytes > errorBytes) return undefined;
  const parts: Buffer[] = [];
  const whole = (body: Buffer) => {
    const error = rpcErrorIn(body.toString("latin1"));
    if (error === undefined) sink.fail(failure);
    else sink.whole(Buffer.from(errorJsonText(id, error), "latin1"));
  };
  return {
    whole,
    begin: () => undefined,
    chunk: (bytes) => parts.push(bytes) > 0,
    end: () => whole(Buffer.concat(parts)),
    fail: () => sink.fail(failure),
  };
}

/** The error of a JSON-RPC answer, JSON text; undefined when the text, a binary string, is none. */
function rpcErrorIn(text: string): string | undefined {
  const error = readObject(text)?.get("error");
  const members = error === undefined ? undefined : readObject(error);
  const isError = /^-?\d+$/.test(members?.get("code") ?? "") && members?.get("message")?.startsWith('"') === true;
  return isError ? error : undefined;
}
