import { runProcess, type ProcessResult } from "#daemon/process/bounded-process.ts";
import { pause } from "#daemon/time.ts";
import {
  explainAbandoned,
  explainExit,
  explainLeftRunning,
  type NodeCliRunner,
  type ToolLocation,
} from "./node-cli.ts";

/** Settings for running the tool in a compose deployment's service. */
export type ComposeNodeCliOptions = Readonly<{
  /** Command that runs a program in a service, such as `docker compose exec`. Its options, the service and the program are appended. */
  exec: readonly string[];
  service: string;
  timeoutMs: number;
  outputLimitBytes: number;
  /** Names of variables passed to compose in addition to those that every program gets. */
  passes?: readonly string[];
}>;

/** Compose's working directory, and the tool's directory in the container. */
export type ComposeNodeCliLocations = Readonly<{ directory: () => string; tool: () => ToolLocation }>;

/**
 * Runs the tool inside the node's container with `docker compose exec` (specification, "Node command line"), in its bin directory, without
 * a terminal or shell. Killing compose doesn't kill the program that it started in the container, so a program that exceeds its time limit
 * is abandoned, and no other program is started while it is still running.
 */
export function createComposeNodeCli(options: ComposeNodeCliOptions, places: ComposeNodeCliLocations): NodeCliRunner {
  const { exec, service, timeoutMs } = options;
  let isLeftRunning = false;
  return async (args, signal) => {
    const tool = places.tool();
    const name = `./${tool.command} in service ${service}`;
    if (isLeftRunning) return explainLeftRunning(name);
    const run = runProcess({
      ...options,
      command: [...exec, "-T", "--workdir", tool.directory, service, `./${tool.command}`, ...args],
      directory: places.directory(),
      timeoutMs: leftRunningMs,
      signal,
    });
    const result = await waitForResult(run, timeoutMs);
    if (result !== undefined) return explainResult(result, name, options, places);
    isLeftRunning = true;
    void run.finally(() => {
      isLeftRunning = false;
    });
    return explainAbandoned(name, timeoutMs);
  };
}

/** Time for which a hung program prevents another from being started. */
const leftRunningMs = 86_400_000;

async function waitForResult(run: Promise<ProcessResult>, timeoutMs: number): Promise<ProcessResult | undefined> {
  const over = new AbortController();
  try {
    return await Promise.race([run, pause(timeoutMs, over.signal).then(() => undefined)]);
  } finally {
    over.abort();
  }
}

/** Explains a failure. A failure in the container is attributed to the tool; a failure of compose itself, to compose's settings. */
function explainResult(
  result: ProcessResult,
  name: string,
  { exec, service }: ComposeNodeCliOptions,
  { directory }: ComposeNodeCliLocations,
): ProcessResult {
  if (result.ok) return result;
  const { exitStatus, message } = result;
  if (exitStatus === 126 || exitStatus === 127) return explainExit(name, exitStatus, result.said ?? "");
  if (result.reason === "Failed" && exitStatus === undefined) return result;
  const settings = `${exec.join(" ")}, compose.service ${service}, in compose.directory ${directory()}`;
  return { ...result, message: `${message} (${settings})` };
}
