import { writeSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { createStream } from "rotating-file-stream";
import { within } from "#daemon/time.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { waitForAbort, createStopSignal } from "#daemon/process/stop-signal.ts";
import { createLog, type Logger } from "#daemon/log/log.ts";
import { readParameters } from "../workspace/node-parameters.ts";
import { startNode } from "./node.ts";
import { isRunning, type ProcessIdentity } from "./running-node.ts";

/** Less than the 30 s that `ops stop` waits. Saving the chain takes seconds on a busy machine; blocks that are not saved get other hashes. */
const stopDeadlineMs = 25_000;

/**
 * Runs the node in the process that `ops start` starts: arguments are the workspace, the configuration file and the file
 * descriptor on which one JSON line says that the node answers.
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
  // Nobody waits for a strict node: its start command has ended.
  if (parameters.profile === "standard")
    writeSync(Number(readyDescriptor), `${JSON.stringify({ httpUrl, webSocketUrl })}\n`);
  const failure = await Promise.race([waitForAbort(signal), node.ended]);
  if (failure === undefined) log.info({ event: "service-stopping", cause: String(signal.reason) }, "stopping");
  else log.fatal({ event: "chain-lost", err: failure }, "the chain is lost; stopping");
  await within("stopping the node", stopDeadlineMs, node[Symbol.asyncDispose]());
  if (failure !== undefined) throw failure;
  log.info({ event: "service-stopped" }, "stopped");
}

const logFileLimit = { size: "5M", maxFiles: 2 } as const;

const intervalMs = 250;

try {
  await runNode(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof StartupError ? error.message : inspect(error)}\n`);
  process.exit(1);
}

/** A log in a file. Disposing of it waits until all is written. */
export type FileLog = AsyncDisposable & Readonly<{ log: Logger; path: string }>;

/** Logs into `<runDirectory>/node.log`, which takes 15 MB at most together with what it rotated away. */
function openNodeLog(runDirectory: string): FileLog {
  const file = createStream("node.log", { path: runDirectory, ...logFileLimit });
  return {
    log: createLog({ service: "devnet", level: "info" }, file),
    path: join(runDirectory, "node.log"),
    [Symbol.asyncDispose]: () => new Promise((resolve) => file.end(() => resolve())),
  };
}

/** Watch over the process that a node belongs to; `gone` aborts once that has ended. */
export type OwnerWatch = Disposable & Readonly<{ gone: AbortSignal }>;

/**
 * Watches the process that a node was prepared for. `ops` starts nodes that outlive it, so that nothing else shows a node that its stack
 * was killed with -9. A process that ended before the node began is no owner: a person started this node by hand.
 */
async function watchOwner(owner: ProcessIdentity | undefined): Promise<OwnerWatch> {
  const gone = new AbortController();
  if (owner === undefined || !(await isRunning(owner))) return { gone: gone.signal, [Symbol.dispose]: () => undefined };
  const look = async () => {
    if (!(await isRunning(owner))) gone.abort(`process ${owner.pid}, which this node belongs to, is gone`);
  };
  // A look that fails, because no descriptor is left for one, says nothing; the next one may.
  const timer = setInterval(() => void look().catch(() => undefined), intervalMs).unref();
  return { gone: gone.signal, [Symbol.dispose]: () => clearInterval(timer) };
}
