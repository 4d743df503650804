import { open } from "node:fs/promises";
import { join } from "node:path";
import { readText } from "#daemon/bytes.ts";
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
  await using address = await findControlAddress(runDirectory);
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

/** Max length of a Unix socket path on Linux and macOS, without the terminating zero (unix(7): 108; macOS: 104). */
const socketPathBytesMax = 103;

/** Address of the node's control socket, valid until disposed of. */
export type ControlAddress = AsyncDisposable & Readonly<{ path: string }>;

/**
 * Finds the socket over which `node_cli` talks to a workspace's node. In a deeply nested directory, the plain path exceeds the length limit
 * of a socket address. The returned path then goes through an open handle to the directory, which only Linux supports.
 */
export async function findControlAddress(runDirectory: string): Promise<ControlAddress> {
  const path = join(runDirectory, "control.sock");
  if (Buffer.byteLength(path) <= socketPathBytesMax) return { path, [Symbol.asyncDispose]: async () => {} };
  const directory = await open(runDirectory, "r");
  return {
    path: `/proc/self/fd/${directory.fd}/control.sock`,
    [Symbol.asyncDispose]: () => directory.close(),
  };
}
