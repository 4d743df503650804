import { z } from "zod";
import { runProcess } from "#daemon/process/bounded-process.ts";
import { runLastingProcess } from "#daemon/process/lasting-process.ts";
import type { OutputFiles } from "#daemon/process/output-files.ts";
import { composeRestart } from "../../settings/drivers.ts";
import { DriverError, type NodeDriver } from "./driver.ts";

/** Commands of a compose deployment, and the directory of its file. */
export type ComposeDriverOptions = Readonly<{
  command: readonly string[];
  /** Command that lists containers as JSON; the service is appended. */
  ps: readonly string[];
  /** If absent, the driver can't determine whether the node runs. */
  service?: string | undefined;
  directory: () => string;
  timeoutMs: number;
  psTimeoutMs: number;
  /** Names of variables passed to the commands in addition to those that every program gets. */
  passes: readonly string[];
}>;

/** Variables that docker and compose read (docker's command line reference, "Environment variables"); a daemon reached by ssh needs the agent. */
export const composeVariables: readonly string[] = ["DOCKER_*", "COMPOSE_*", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"];

/** Stop timeout of the node in seconds: Compose before 2.19 allows 10 at a restart, regardless of the file's `stop_grace_period`. */
const stopTimeoutSeconds = 300;

/** Max output of a command whose output is read. */
const outputLimitBytes = 1_048_576;

/** One container of `docker compose ps --format json`. */
const listed = z.object({ State: z.string() });

/** States of a container whose process exists, or is about to start for the first time. */
const alive: ReadonlySet<string> = new Set(["running", "paused", "created"]);

/**
 * Restarts a container deployment with `docker compose restart` (specification, "Node command line"): only the node's service if it is set,
 * because the command by default restarts all services of the file, including the sidecar.
 */
export function createComposeDriver(options: ComposeDriverOptions, output: OutputFiles): NodeDriver {
  const { directory, timeoutMs, passes } = options;
  const command = buildRestart(options);
  return {
    name: "compose",
    restart: async (signal) => {
      const [file = "", ...args] = command;
      const where = directory();
      const result = await runLastingProcess(
        { name: "compose", command: [file, ...args], directory: where, timeoutMs, passes, signal },
        output,
      );
      // Compose writes its progress to standard error, so that output is no complaint.
      if (result.ok) return {};
      const what = `(compose.command ${JSON.stringify(command)} in compose.directory ${where})`;
      throw new DriverError(`${result.message} ${what}`);
    },
    runs: (signal) => checkRunning(options, signal),
  };
}

/** Builds the restart command; uses an operator's command as is. */
function buildRestart({ command, service }: ComposeDriverOptions): readonly string[] {
  const isDefault =
    command.length === composeRestart.length && composeRestart.every((word, at) => word === command[at]);
  if (!isDefault || service === undefined) return command;
  return [...command, "--timeout", String(stopTimeoutSeconds), service];
}

/** Checks whether a container of the service is alive; `unknown` if compose doesn't report it. */
async function checkRunning(
  { ps, service, directory, psTimeoutMs, passes }: ComposeDriverOptions,
  signal: AbortSignal,
): Promise<boolean | "unknown"> {
  if (service === undefined) return "unknown";
  const [file = "", ...args] = ps;
  const result = await runProcess({
    command: [file, ...args, service],
    directory: directory(),
    timeoutMs: psTimeoutMs,
    outputLimitBytes,
    passes,
    signal,
  });
  const containers = result.ok ? readContainers(result.output) : undefined;
  if (containers === undefined) return "unknown";
  return containers.some(({ State }) => alive.has(State));
}

/** Reads a single array, as printed by compose until 2.20, or a line per container; undefined for any other or empty output. */
function readContainers(output: string): readonly z.output<typeof listed>[] | undefined {
  const text = output.trim();
  try {
    const parts: unknown[] = text.startsWith("[") ? JSON.parse(text) : text.split("\n").map((line) => JSON.parse(line));
    const containers = z.array(listed).min(1).safeParse(parts);
    return containers.success ? containers.data : undefined;
  } catch {
    // Not JSON: the caller copes without it.
    return undefined;
  }
}
