import { createTextSink } from "../responses/text-sink.ts";
import { formatCall, readNodeResponse } from "../json-rpc/read-answer.ts";
import type { NodeSender } from "./node-call.ts";

/** Queries the node on behalf of the gateway itself. Returns the JSON text of the result; undefined if the node does not respond or responds with an error. */
export type NodeRequest = (method: string, params: string) => Promise<string | undefined>;

/** Max size of the response to a query from the gateway itself. */
const responseBytesMax = 8_388_608;

/** Caller key of the gateway's own queries; no caller from a listener has this key. */
const ownCaller = "gateway";

export function createRequestNode(pool: NodeSender, timeoutMs: number): NodeRequest {
  return (method, params) =>
    new Promise((resolve) => {
      pool.send({
        caller: ownCaller,
        id: "1",
        body: formatCall("1", method, params),
        timeoutMs,
        repeatable: true,
        sink: createTextSink(responseBytesMax, undefined, (response) => {
          const nodeResponse = typeof response === "string" ? undefined : readNodeResponse(response.text, "1");
          resolve(nodeResponse?.kind === "result" ? nodeResponse.json : undefined);
        }),
      });
    });
}
