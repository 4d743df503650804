import { z } from "zod";
import { formatShellWords, quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { runProcess, type ProcessResult } from "#daemon/process/bounded-process.ts";
import { runLongRunningProcess } from "../../programs/long-running-process.ts";
import type { OutputFiles } from "../../programs/output-files.ts";
import { DriverError, type NodeDriver } from "./driver.ts";
import { pause } from "#daemon/time.ts";
import {
  explainAbandoned,
  explainExit,
  explainStillRunning,
  type NodeCliRunner,
  type ToolLocation,
} from "./node-cli.ts";

type ComposeDriverOptions = Readonly<{
  command: readonly string[];
  service?: string | undefined;
  directory: () => string;
  timeoutMs: number;
  psTimeoutMs: number;
  passes: readonly string[];
}>;

/** Variables that docker and compose read (docker's reference, "Environment variables"), and the agent for a daemon over SSH. */
export const composeVariables: readonly string[] = ["DOCKER_*", "COMPOSE_*", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"];

/** The node's stop timeout in seconds. Without it, Compose before 2.19 allows 10 seconds on a restart, regardless of the file's `stop_grace_period`. */
const stopTimeoutSeconds = 300;

const outputLimitBytes = 1_048_576;

const psEntry = z.object({ State: z.string() });

/** States of a container whose process exists or is about to start for the first time. */
const aliveStates: ReadonlySet<string> = new Set(["running", "paused", "created"]);

/**
 * Runs `docker compose restart` (specification, "Node command line") for the node's service: by default, compose restarts all services,
 * including the sidecar.
 */
export function createComposeDriver(options: ComposeDriverOptions, output: OutputFiles): NodeDriver {
  const { directory, timeoutMs, passes, service } = options;
  const command = buildRestart(options);
  return {
    name: "compose",
    restart: async (signal) => {
      const where = directory();
      const program = { name: "compose", command, directory: where, timeoutMs, passes, signal };
      const result = await runLongRunningProcess(program, output);
      // Compose writes its progress to standard error, so output there does not indicate a problem.
      if (result.ok) return {};
      const what = `(compose.command ${JSON.stringify(command)} in compose.directory ${where})`;
      throw new DriverError(`${result.message} ${what}`);
    },
    runs: (signal) => checkRunning(options, signal),
    ...(service === undefined ? {} : { startCommand: () => formatComposeStart(service, directory()) }),
  };
}

function formatComposeStart(service: string, directory: string): string {
  return `cd ${quoteShellWord(directory)} && ${formatShellWords(["docker", "compose", "start", service])}`;
}

const defaultRestart = ["docker", "compose", "restart"];

function buildRestart({ command, service }: ComposeDriverOptions): readonly string[] {
  if (service === undefined || command.join(" ") !== defaultRestart.join(" ")) return command;
  return [...command, "--timeout", String(stopTimeoutSeconds), service];
}

/** Builds another command of the same compose: `ps` or `exec` in place of `restart`, after its options. */
export function buildComposeCommand(
  restart: readonly string[],
  commandWords: readonly [name: "exec" | "ps", ...options: string[]],
): readonly string[] {
  const at = restart.indexOf("restart");
  return [...(at > 0 ? restart : defaultRestart).slice(0, at > 0 ? at : -1), ...commandWords];
}

async function checkRunning(
  { command, service, directory, psTimeoutMs, passes }: ComposeDriverOptions,
  signal: AbortSignal,
): Promise<boolean | "unknown"> {
  if (service === undefined) return "unknown";
  const result = await runProcess({
    command: [...buildComposeCommand(command, ["ps", "--all", "--format", "json"]), service],
    directory: directory(),
    timeoutMs: psTimeoutMs,
    outputLimitBytes,
    passes,
    signal,
  });
  const containers = result.ok ? readContainers(result.output) : undefined;
  if (containers === undefined) return "unknown";
  return containers.some(({ State }) => aliveStates.has(State));
}

/** Reads a single array, as compose printed until 2.20, or one line per container; undefined for empty or any other output. */
function readContainers(output: string): readonly z.output<typeof psEntry>[] | undefined {
  const text = output.trim();
  try {
    const parts: unknown[] = text.startsWith("[") ? JSON.parse(text) : text.split("\n").map((line) => JSON.parse(line));
    const containers = z.array(psEntry).min(1).safeParse(parts);
    return containers.success ? containers.data : undefined;
  } catch {
    // The output is not JSON; the caller handles a missing value.
    return undefined;
  }
}

type ComposeNodeCliOptions = Readonly<{
  /** Command that runs a program in a service, such as `docker compose exec`. Its options, the service and the program are appended. */
  exec: readonly string[];
  service: string;
  timeoutMs: number;
  outputLimitBytes: number;
  passes?: readonly string[];
}>;

type ComposeNodeCliLocations = Readonly<{ directory: () => string; tool: () => ToolLocation }>;

/**
 * Runs the tool with `docker compose exec` (specification). A program over its time limit can't be killed: it is abandoned, and no other
 * starts until it exits.
 */
export function createComposeNodeCli(options: ComposeNodeCliOptions, locate: ComposeNodeCliLocations): NodeCliRunner {
  const { exec, service, timeoutMs } = options;
  let isStillRunning = false;
  return async (args, signal) => {
    const tool = locate.tool();
    const name = `./${tool.command} in service ${service}`;
    if (isStillRunning) return explainStillRunning(name);
    const run = runProcess({
      ...options,
      command: [...exec, "-T", "--workdir", tool.directory, service, `./${tool.command}`, ...args],
      directory: locate.directory(),
      timeoutMs: leftRunningMs,
      signal,
    });
    const result = await waitForResult(run, timeoutMs);
    if (result !== undefined) return explainResult(result, name, options, locate);
    isStillRunning = true;
    void run.finally(() => {
      isStillRunning = false;
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
