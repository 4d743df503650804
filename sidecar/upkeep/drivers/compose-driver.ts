import { z } from "zod";
import { runProcess } from "#daemon/process/bounded-process.ts";
import { runLastingProcess } from "#daemon/process/long-running-process.ts";
import type { OutputFiles } from "#daemon/process/output-files.ts";
import { DriverError, type NodeDriver } from "./driver.ts";

/** Commands for a compose deployment, and the directory of its compose file. */
export type ComposeDriverOptions = Readonly<{
  /** Command that restarts the containers. */
  command: readonly string[];
  /** If absent, the driver can't determine whether the node is running. */
  service?: string | undefined;
  directory: () => string;
  timeoutMs: number;
  psTimeoutMs: number;
  /** Names of variables passed to the commands in addition to those that every program gets. */
  passes: readonly string[];
}>;

/**
 * Variables that docker and compose read (docker's command line reference, "Environment variables"); a daemon that is reached over SSH also
 * needs the agent.
 */
export const composeVariables: readonly string[] = ["DOCKER_*", "COMPOSE_*", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"];

/** The node's stop timeout in seconds. Without it, Compose before 2.19 allows 10 seconds on a restart, regardless of the file's `stop_grace_period`. */
const stopTimeoutSeconds = 300;

/** Max output size of a command whose output is read. */
const outputLimitBytes = 1_048_576;

/** One container in the output of `docker compose ps --format json`. */
const listed = z.object({ State: z.string() });

/** States of a container whose process exists or is about to start for the first time. */
const alive: ReadonlySet<string> = new Set(["running", "paused", "created"]);

/**
 * Restarts a container deployment with `docker compose restart` (specification, "Node command line"). Restarts only the node's service, if
 * one is set: by default the command restarts all services in the file, including the sidecar.
 */
export function createComposeDriver(options: ComposeDriverOptions, output: OutputFiles): NodeDriver {
  const { directory, timeoutMs, passes } = options;
  const command = buildRestart(options);
  return {
    name: "compose",
    restart: async (signal) => {
      const where = directory();
      const program = { name: "compose", command, directory: where, timeoutMs, passes, signal };
      const result = await runLastingProcess(program, output);
      // Compose writes its progress to standard error, so output there does not indicate a problem.
      if (result.ok) return {};
      const what = `(compose.command ${JSON.stringify(command)} in compose.directory ${where})`;
      throw new DriverError(`${result.message} ${what}`);
    },
    runs: (signal) => checkRunning(options, signal),
  };
}

const defaultRestart = ["docker", "compose", "restart"];

/** Builds the restart command. An operator's own command is used unchanged. */
function buildRestart({ command, service }: ComposeDriverOptions): readonly string[] {
  if (service === undefined || command.join(" ") !== defaultRestart.join(" ")) return command;
  return [...command, "--timeout", String(stopTimeoutSeconds), service];
}

/** Builds another command of the same compose: `ps` or `exec` in the place of `restart`, after its options. */
export function buildComposeCommand(
  restart: readonly string[],
  words: readonly [name: "exec" | "ps", ...options: string[]],
): readonly string[] {
  const at = restart.indexOf("restart");
  return [...(at > 0 ? restart : defaultRestart).slice(0, at > 0 ? at : -1), ...words];
}

/** Checks whether a container of the service is alive; `unknown` if compose doesn't report it. */
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
  return containers.some(({ State }) => alive.has(State));
}

/** Reads a single array, as compose printed until 2.20, or one line per container; undefined for empty or any other output. */
function readContainers(output: string): readonly z.output<typeof listed>[] | undefined {
  const text = output.trim();
  try {
    const parts: unknown[] = text.startsWith("[") ? JSON.parse(text) : text.split("\n").map((line) => JSON.parse(line));
    const containers = z.array(listed).min(1).safeParse(parts);
    return containers.success ? containers.data : undefined;
  } catch {
    // Not JSON; the caller handles a missing value.
    return undefined;
  }
}
