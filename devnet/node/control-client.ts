import { join } from "node:path";
import { readText } from "#daemon/bytes.ts";
import { findShortSocketPath } from "#daemon/http/short-socket-path.ts";
import { sendRequest } from "#daemon/http/send-request.ts";
import type { PruneInfo } from "../pruning.ts";

const answerDeadlineMs = 5_000;
const responseBytesMax = 65_536;

/** No node responds in this workspace. */
export class NodeNotRunningError extends Error {
  override readonly name = "NodeNotRunningError";
  readonly code = "node_not_running";
}

/** Requests that a running node accepts on its control socket. */
export type ControlCommand = "GET /prune" | "POST /prune/auto";

/**
 * Queries the node that runs in a workspace.
 *
 * @throws {NodeNotRunningError} when none does.
 * @throws {Error} when the node rejects the request, or does not respond within 5 s.
 */
export async function requestNode(runDirectory: string, command: ControlCommand): Promise<PruneInfo> {
  await using address = await findShortSocketPath(locateControlSocket(runDirectory));
  const [method, path] = command.split(" ") as ["GET" | "POST", string];
  const signal = AbortSignal.timeout(answerDeadlineMs);
  const request = { url: `http://localhost${path}`, socketPath: address.path, method, headers: {}, signal };
  const response = await sendRequest(request).catch((error: NodeJS.ErrnoException) => {
    const absent = error.code === "ENOENT" || error.code === "ECONNREFUSED";
    throw absent ? new NodeNotRunningError("no node runs in this workspace", { cause: error }) : error;
  });
  const answer = JSON.parse(await readText(response, responseBytesMax)) as PruneInfo | { error: string };
  if ("error" in answer) throw new Error(`the node returned HTTP ${response.statusCode}: ${answer.error}`);
  return answer;
}

/** Locates the socket over which `node_cli` talks to a workspace's node. */
export function locateControlSocket(runDirectory: string): string {
  return join(runDirectory, "control.sock");
}
