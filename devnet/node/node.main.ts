import { closeSync, writeSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { createStream } from "rotating-file-stream";
import { openToAppend } from "#daemon/files/append-file.ts";
import { within } from "#daemon/time.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { isRunning, type ProcessIdentity } from "#daemon/process/running-process.ts";
import { waitForAbort, createStopSignal } from "#daemon/process/stop-signal.ts";
import { createLog, type Logger } from "#daemon/log/log.ts";
import { readParameters } from "../workspace/node-parameters.ts";
import { startNode } from "./node.ts";

/** Less than the 30 s that `ops stop` waits. Saving the chain takes seconds on a busy machine; unsaved blocks get different hashes. */
const stopDeadlineMs = 25_000;

/**
 * Runs the node in the process that `ops start` spawns. Arguments: the workspace, the configuration file, and the file descriptor for the
 * one JSON line that reports readiness.
 */
async function runNode([workspace = "", configPath = "", readyDescriptor = ""]: readonly string[]): Promise<void> {
  const parameters = readParameters(join(workspace, "devnet.json"));
  using owner = await watchOwner(parameters.owner);
  const signal = AbortSignal.any([createStopSignal(), owner.gone]);
  const runDirectory = join(workspace, "run");
  await using fileLog = openNodeLog(runDirectory);
  const { log } = fileLog;
  const node = await startNode({ configPath, runDirectory, parameters }, { log, signal });
  const { httpUrl, webSocketUrl } = node;
  log.info(
    { event: "service-ready", httpUrl, webSocketUrl, version: parameters.version, height: node.height() },
    "ready",
  );
  // A strict node's start command has already exited, so nothing waits for this.
  if (parameters.profile === "standard")
    writeSync(Number(readyDescriptor), `${JSON.stringify({ httpUrl, webSocketUrl })}\n`);
  const failure = await Promise.race([waitForAbort(signal), node.ended]);
  if (failure === undefined) log.info({ event: "service-stopping", cause: String(signal.reason) }, "stopping");
  else log.fatal({ event: "chain-lost", err: failure }, "the chain exited; stopping");
  await within("stopping the node", stopDeadlineMs, node[Symbol.asyncDispose]());
  if (failure !== undefined) throw failure;
  log.info({ event: "service-stopped" }, "stopped");
}

const intervalMs = 250;

try {
  await runNode(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof StartupError ? error.message : inspect(error)}\n`);
  process.exit(1);
}

/** Logs to `<runDirectory>/node.log`, at most 15 MB including rotated files. Disposing of it waits until everything is written. */
function openNodeLog(runDirectory: string): AsyncDisposable & Readonly<{ log: Logger }> {
  // The stream would follow a symbolic link, which another user may have put in the file's place.
  closeSync(openToAppend(join(runDirectory, "node.log")));
  const file = createStream("node.log", { path: runDirectory, size: "5M", maxFiles: 2 });
  return {
    log: createLog({ service: "devnet", level: "info" }, file),
    [Symbol.asyncDispose]: () => new Promise((resolve) => file.end(() => resolve())),
  };
}

/**
 * Watches the process that a node was prepared for; `gone` aborts once that process has exited. A node outlives the `ops` that started it,
 * so only this watch detects that its stack was killed with kill -9. If the process exited before the node started, the node was started by
 * hand and has no owner.
 */
async function watchOwner(owner: ProcessIdentity | undefined): Promise<Disposable & Readonly<{ gone: AbortSignal }>> {
  const gone = new AbortController();
  if (owner === undefined || !(await isRunning(owner))) return { gone: gone.signal, [Symbol.dispose]: () => undefined };
  const check = async () => {
    if (!(await isRunning(owner))) gone.abort(`process ${owner.pid}, which owns this node, has exited`);
  };
  // A check may fail for lack of file descriptors; the next one may succeed.
  const timer = setInterval(() => void check().catch(() => undefined), intervalMs).unref();
  return { gone: gone.signal, [Symbol.dispose]: () => clearInterval(timer) };
}
