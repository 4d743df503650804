import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, ftruncateSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { findFamily } from "#node/families.ts";
import { openToAppend } from "#daemon/files/append-file.ts";
import { createJsonRpcClient } from "#daemon/http/json-rpc-client.ts";
import { DeadlineError, pause, within } from "#daemon/time.ts";
import { findRunningNode } from "../node/running-node.ts";
import { locateProgramFile } from "../program-file.ts";
import { readParameters } from "../workspace/node-parameters.ts";
import { CommandError } from "./run-command.ts";
import { startProcess } from "#daemon/process/bounded-process.ts";

export type StartInBackgroundOptions = Readonly<{ workspace: string; configPath: string }>;

const startDeadlineMs = 30_000;
const blockNumberBytesMax = 65_536;
const lastOutputBytesMax = 4_000;
const program = locateProgramFile("../node/node.main.ts", import.meta.url);

type Ready = Readonly<{ httpUrl: string; webSocketUrl: string }>;

/**
 * Starts the node in a detached process and returns when its JSON-RPC responds.
 *
 * @throws {CommandError} when the node is already running, exits at once (with its output), or does not respond within 30 s.
 */
export async function startInBackground({ workspace, configPath }: StartInBackgroundOptions): Promise<string> {
  const startedAt = performance.now();
  const runDirectory = join(workspace, "run");
  const { profile } = readParameters(join(workspace, "devnet.json"));
  const running = await findRunningNode(runDirectory);
  // A node from the public family starts anyway, and then exits because the running node has locked the data.
  if (running !== undefined && profile !== "pharos") {
    throw new CommandError(
      `the node is already running (process ${running.pid}) and reads ${configPath} only at startup; first run: ./ops stop --force`,
      1,
    );
  }
  // A node of that family runs in the directory of its programs, regardless of where `ops` runs.
  const directory = profile === "pharos" ? join(workspace, "bin") : process.cwd();
  // That family's tools and sidecars identify a node by the name on its command line.
  const name = profile === "pharos" ? [String(findFamily(profile).programs.process)] : [];
  const begin = () => spawnNode([workspace, configPath, "3", ...name], directory, join(runDirectory, "node.err"));
  const child = await startProcess(begin).catch((cause: unknown) => {
    throw new CommandError(`the node's process can't be started: ${String(cause)}`, 1, { cause });
  });
  try {
    if (profile === "pharos") return "started\n";
    if (profile === "strict") {
      await Promise.race([waitForEarlyEnd(child, runDirectory), pause(earlyEndMs)]);
      return `started process ${child.pid}\n`;
    }
    const { httpUrl, webSocketUrl } = await within(
      "the node's start",
      startDeadlineMs,
      waitUntilReady(child, runDirectory),
    );
    const block = await within("eth_blockNumber", startDeadlineMs, readBlockNumber(httpUrl));
    const took = Math.round(performance.now() - startedAt);
    return `the node was started (process ${child.pid}): ${httpUrl}, ${webSocketUrl}, block ${block}, after ${took} ms\n`;
  } catch (error) {
    child.kill("SIGKILL");
    if (!(error instanceof DeadlineError)) throw error;
    throw new CommandError(`${error.message}; see ${join(runDirectory, "node.log")}`, 1, { cause: error });
  } finally {
    child.stdio[3]?.destroy();
    child.unref();
  }
}

/** Spawns the node and redirects its output to a file truncated at each start: the node's log has its own file. */
function spawnNode(args: readonly string[], directory: string, outputPath: string): ChildProcess {
  const output = openToAppend(outputPath);
  try {
    ftruncateSync(output);
    return spawn(process.execPath, [program, ...args], {
      cwd: directory,
      detached: true,
      stdio: ["ignore", output, output, "pipe"],
    });
  } finally {
    closeSync(output);
  }
}

async function waitUntilReady(child: ChildProcess, runDirectory: string): Promise<Ready> {
  const line = once(child.stdio[3] as Readable, "data").then(([data]) => JSON.parse(String(data)) as Ready);
  return Promise.race([line, waitForEarlyEnd(child, runDirectory)]);
}

/** Time that the start of a strict node waits for an early process exit. */
const earlyEndMs = 300;

async function waitForEarlyEnd(child: ChildProcess, runDirectory: string): Promise<never> {
  const [status, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  const output = readFileSync(join(runDirectory, "node.err"), "utf8").slice(-lastOutputBytesMax).trim();
  throw new CommandError(output || `the node exited with ${signal ?? `status ${status}`}; see its log`, 1);
}

async function readBlockNumber(url: string): Promise<number> {
  const call = createJsonRpcClient({ url, timeoutMs: startDeadlineMs, responseBytesMax: blockNumberBytesMax });
  const answer = await call("eth_blockNumber", []).catch((cause: unknown) => {
    throw new CommandError(`no response from ${url} to eth_blockNumber: ${(cause as Error).message}`, 1, { cause });
  });
  if (!answer.ok) throw new CommandError(`${url} does not respond to eth_blockNumber; see the node's log`, 1);
  return Number(answer.result);
}
