import { writeSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { within } from "#daemon/time.ts";
import { StartupError } from "#daemon/startup-error.ts";
import { aborted, stopSignal } from "#daemon/stop-signal.ts";
import { readParameters } from "../workspace/node-parameters.ts";
import { openNodeLog } from "./node-log.ts";
import { startNode } from "./node.ts";
import { watchOwner } from "./owner-watch.ts";

/** Less than the 30 s that `ops stop` waits. Saving the chain takes seconds on a busy machine; blocks that are not saved get other hashes. */
const stopDeadlineMs = 25_000;

/**
 * The node's own process, as `ops start` starts it: arguments are the workspace, the configuration file and the file
 * descriptor on which one JSON line tells that the node answers.
 */
async function main([workspace = "", configPath = "", readyDescriptor = ""]: readonly string[]): Promise<void> {
  const parameters = readParameters(join(workspace, "devnet.json"));
  using owner = await watchOwner(parameters.owner);
  const signal = AbortSignal.any([stopSignal(), owner.gone]);
  const runDirectory = join(workspace, "run");
  await using fileLog = openNodeLog(runDirectory);
  const { log } = fileLog;
  const node = await startNode({ configPath, runDirectory, parameters }, { log, signal });
  const { httpUrl, webSocketUrl } = node;
  log.info({ httpUrl, webSocketUrl, version: parameters.version, height: node.height() }, "ready");
  // Nobody waits for a strict node: its start command has ended.
  if (parameters.profile === "standard")
    writeSync(Number(readyDescriptor), `${JSON.stringify({ httpUrl, webSocketUrl })}\n`);
  const failure = await Promise.race([aborted(signal), node.ended]);
  if (failure === undefined) log.info({ cause: String(signal.reason) }, "stopping");
  else log.fatal({ err: failure }, "the chain is lost; stopping");
  await within("stopping the node", stopDeadlineMs, node[Symbol.asyncDispose]());
  if (failure !== undefined) throw failure;
  log.info("stopped");
}

try {
  await main(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof StartupError ? error.message : inspect(error)}\n`);
  process.exit(1);
}
