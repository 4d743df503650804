import { readText } from "#daemon/bytes.ts";
import { sendRequest } from "#daemon/http/request.ts";
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
  const [method, path] = command.split(" ") as ["GET" | "POST", string];
  const signal = AbortSignal.timeout(answerDeadlineMs);
  const request = { url: `http://localhost${path}`, socketPath, method, headers: {}, signal };
  const answer = await sendRequest(request).catch((error: NodeJS.ErrnoException) => {
    const absent = error.code === "ENOENT" || error.code === "ECONNREFUSED";
    throw absent ? new NodeNotRunningError("no node runs in this workspace", { cause: error }) : error;
  });
  return { status: answer.statusCode ?? 0, body: await readText(answer, answerBytesMax) };
}
