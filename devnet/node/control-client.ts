import { request } from "node:http";
import { controlAddress } from "./control-socket.ts";
import type { PruneInfo } from "../pruning.ts";

const answerDeadlineMs = 5_000;
const answerBytesMax = 65_536;

/** No node answers in this workspace. */
export class NodeNotRunningError extends Error {
  override readonly name = "NodeNotRunningError";
  readonly code = "node_not_running";
}

/** What can be asked of a running node. */
export type ControlCommand = "GET /prune" | "POST /prune/auto";

/**
 * Asks the node that runs in a workspace.
 *
 * @throws {NodeNotRunningError} when none does.
 * @throws {Error} when the node refuses, or does not answer within 5 s.
 */
export async function requestNode(runDirectory: string, command: ControlCommand): Promise<PruneInfo> {
  await using address = await controlAddress(runDirectory);
  const { status, body } = await exchange(address.path, command);
  const answer = JSON.parse(body) as PruneInfo | { error: string };
  if ("error" in answer) throw new Error(`the node answered ${status}: ${answer.error}`);
  return answer;
}

type Exchange = Readonly<{ status: number; body: string }>;

async function exchange(socketPath: string, command: ControlCommand): Promise<Exchange> {
  const [method, path] = command.split(" ");
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(answerDeadlineMs);
    const call = request({ socketPath, method, path, signal }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
        if (body.length > answerBytesMax) response.destroy(new Error("the node's answer is too long"));
      });
      response.once("error", reject);
      response.once("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    call.once("error", (error: NodeJS.ErrnoException) => {
      const absent = error.code === "ENOENT" || error.code === "ECONNREFUSED";
      reject(absent ? new NodeNotRunningError("no node runs in this workspace", { cause: error }) : error);
    });
    call.end();
  });
}
