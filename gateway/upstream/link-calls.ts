import type { WebSocket } from "ws";
import { pauseWhileRunning } from "#daemon/time.ts";
import { formatRpcError, rpcErrors } from "../errors.ts";
import { formatCall, type NodeResponse } from "../json-rpc/read-answer.ts";

/** Response to a call while the link is down, is lost, or the node takes too long. */
export const unanswered: NodeResponse = {
  kind: "error",
  json: formatRpcError(rpcErrors.nodeUnavailable),
};

/** Calls over the node's WebSocket that are awaiting a response. */
export type LinkCalls = Readonly<{
  send: (socket: WebSocket, method: string, params: string) => Promise<NodeResponse>;
  /** Completes the call whose id is in the message. */
  settle: (message: ReadonlyMap<string, string>) => void;
  /** Ends all calls after the connection is lost: no more responses will arrive. */
  dropAll: () => void;
}>;

export function createLinkCalls(timeoutMs: number): LinkCalls {
  const waiting = new Map<string, (answer: NodeResponse) => void>();
  let lastId = 0;
  return {
    send: (socket, method, params) => {
      lastId += 1;
      const id = String(lastId);
      socket.send(Buffer.from(formatCall(id, method, params), "latin1"), { binary: false });
      const over = new AbortController();
      const { promise, resolve } = Promise.withResolvers<NodeResponse>();
      waiting.set(id, (answer) => {
        over.abort();
        resolve(answer);
      });
      // Responses that the node sent while this process was suspended are read before the timeout fires.
      return pauseWhileRunning(timeoutMs, over.signal).then(() => {
        if (over.signal.aborted) return promise;
        waiting.delete(id);
        return unanswered;
      });
    },
    settle: (message) => {
      const id = message.get("id") ?? "";
      const answered = waiting.get(id);
      waiting.delete(id);
      const result = message.get("result");
      const error = message.get("error");
      if (result !== undefined) answered?.({ kind: "result", json: result });
      else answered?.(error === undefined ? unanswered : { kind: "error", json: error });
    },
    dropAll: () => {
      for (const answered of waiting.values()) answered(unanswered);
      waiting.clear();
    },
  };
}
