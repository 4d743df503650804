import type { ResponseFlow } from "../../responses/response-sink.ts";
import type { MessageHandler } from "../../calls/message-handler.ts";
import { createTextSink, type LongResponse, type TextResponse } from "../../responses/text-sink.ts";
import { formatErrorResponse } from "../../json-rpc/read-answer.ts";
import { isBatch, readMessage } from "../../json-rpc/read-message.ts";
import { responseErrors, type ResponseFailure } from "../../errors.ts";
import { ResponseMemory } from "../../memory/response-memory.ts";
import type { PolicySource } from "../../policy.ts";
import type { PolicySettings } from "../../settings/policy.ts";
import type { ClientSubscriptions } from "./client-subscriptions.ts";
import type { ConnectedClient } from "./connected-client.ts";

export type ClientCallsDependencies = Readonly<{
  policy: PolicySource;
  handle: MessageHandler;
  subscriptions: ClientSubscriptions;
  send: (answer: string | readonly Buffer[]) => void;
  /** Called when a message is answered and its response is sent. */
  answered: () => void;
}>;

/** A client's messages in progress. Disposal cancels them. */
export type ClientCalls = Disposable & Readonly<{ handle: (message: Buffer) => void; underWay: () => number }>;

/** Max bytes of an error that replaces a batch entry, excluding its id. */
const refusalBytes = 128;

/** Answers one client's messages in the same way as HTTP bodies. Data that must follow a response is deferred until the response is sent. */
export function createClientCalls(
  { caller, memory, traceContext }: Pick<ConnectedClient, "caller" | "memory" | "traceContext">,
  { policy, handle, subscriptions, send, answered }: ClientCallsDependencies,
): ClientCalls {
  const flows = new Set<ResponseFlow>();
  let underWay = 0;
  const reply = (answer: string | readonly Buffer[], afterReply: readonly (() => void)[]) => {
    underWay -= 1;
    if (answer.length > 0) send(answer);
    for (const run of afterReply) run();
    answered();
  };
  return {
    underWay: () => underWay,
    handle: (message) => {
      const afterReply: (() => void)[] = [];
      let flow: ResponseFlow | undefined;
      let isDone = false;
      underWay += 1;
      const { limits } = policy().settings;
      const held = new ResponseMemory(memory);
      const done = (answer: string | readonly Buffer[]) => {
        isDone = true;
        held[Symbol.dispose]();
        if (flow !== undefined) flows.delete(flow);
        reply(answer, afterReply);
      };
      const receive = (answer: TextResponse | ResponseFailure) =>
        done(typeof answer === "string" ? formatFailedAnswer(message, answer, limits) : answer.text);
      const receiveLong = ({ parts }: LongResponse) => done(parts);
      const sink = createTextSink(computeAnswerBytes(message, limits), held, receive, receiveLong);
      const own = subscriptions.forMessage((run) => afterReply.push(run));
      flow = handle(message, { caller, memory: held, traceContext, subscriptions: own }, sink);
      if (!isDone) flows.add(flow);
    },
    [Symbol.dispose]: () => {
      for (const flow of flows) flow.cancel();
      flows.clear();
    },
  };
}

/** Computes the max bytes of a response. A batch itself keeps its entries within the limit; errors with their ids come on top. */
function computeAnswerBytes(message: Buffer, { batchResponseBytes, batchItems }: PolicySettings["limits"]): number {
  return isBatch(message) ? batchResponseBytes + message.length + batchItems * refusalBytes : batchResponseBytes;
}

/** Formats the response to a message whose actual response can't be sent: an error with the message's id. A batch is not parsed again just for this. */
function formatFailedAnswer(message: Buffer, reason: ResponseFailure, limits: PolicySettings["limits"]): string {
  const read = isBatch(message) ? undefined : readMessage(message, limits);
  const id = read?.kind === "single" ? read.call.id : undefined;
  return formatErrorResponse(id ?? "null", responseErrors[reason]);
}
