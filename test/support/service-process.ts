import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { buildOwnEnvironment } from "./own-environment.ts";
import type { Environment } from "#daemon/settings/environment.ts";
import { within } from "#daemon/time.ts";
import type { ServiceName } from "../../cli/service-definitions.ts";
import type { ConstantOverrides } from "./constant-overrides.ts";
import { importConstants } from "./programs/import-constants.ts";
import { gatehouseProgram } from "./programs/place.ts";

/** This includes the time to compile at the very first start. */
const startDeadlineMs = 40_000;
const stopDeadlineMs = 10_000;

export type ReadyUrls = Readonly<Record<string, string>>;

export type ServiceProcess = AsyncDisposable &
  Readonly<{
    urls: ReadyUrls;
    pid: number;
    output: () => string;
    hasEnded: () => boolean;
    /** Sends a signal and resolves with the exit status (null if the signal ended it). */
    end: (signal: NodeJS.Signals, withinMs?: number) => Promise<number | null>;
  }>;

/**
 * Runs `gatehouse <service>` with only the given environment, and waits until it is ready.
 *
 * @throws {Error} with the process's output if it exits before that.
 */
export async function startService(
  service: string,
  env: Environment,
  {
    descriptors,
    constants,
    program = gatehouseProgram,
    args: more = [],
    reports = waitForUrls,
    ...options
  }: Readonly<{
    cwd?: string;
    descriptors?: number;
    program?: string;
    /** Other values for constants of its settings. */
    constants?: ConstantOverrides | undefined;
    args?: readonly string[];
    /** Resolves with its URLs once it is ready; by default, waits for the service's report to its parent. */
    reports?: (child: ChildProcess) => Promise<ReadyUrls>;
  }> = {},
): Promise<ServiceProcess> {
  const limit = descriptors === undefined ? [] : ["sh", "-c", `ulimit -n ${descriptors} && exec "$@"`, "sh"];
  const [command = program, ...args] = [...limit, program, service, ...more];
  const child = spawn(command, args, {
    ...options,
    env: buildOwnEnvironment({ ...env, ...setConstants(service as ServiceName, env, constants) }),
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (output += String(chunk)));
  const exited = once(child, "close").then(([status]) => status as number | null);
  const ended = exited.then((status) => {
    throw new Error(`${service} ended with status ${String(status)}:\n${output}`);
  });
  ended.catch(() => undefined);
  const ready = await within(`the start of ${service}`, startDeadlineMs, Promise.race([reports(child), ended]));
  const end = async (signal: NodeJS.Signals, withinMs = stopDeadlineMs) => {
    child.kill(signal);
    return within(`the end of ${service}`, withinMs, exited);
  };
  return {
    urls: ready,
    pid: child.pid ?? 0,
    output: () => output,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    end,
    [Symbol.asyncDispose]: async () => void (await end("SIGTERM")),
  };
}

export async function runToEnd(service: ServiceName, env: Environment, constants?: ConstantOverrides | undefined) {
  const child = spawn(gatehouseProgram, [service], {
    env: buildOwnEnvironment({ ...env, ...setConstants(service, env, constants) }),
  });
  const printed = Promise.all([text(child.stdout), text(child.stderr)]);
  const [status] = (await within(`the end of ${service}`, startDeadlineMs, once(child, "close"))) as [number | null];
  const [stdout, stderr] = await printed;
  return { status, stdout, stderr };
}

function setConstants(
  service: ServiceName,
  { NODE_OPTIONS = "" }: Environment,
  constants: ConstantOverrides | undefined,
): Readonly<Record<string, string>> {
  return constants === undefined ? {} : { NODE_OPTIONS: `${NODE_OPTIONS} ${importConstants(service, constants)}` };
}

async function waitForUrls(child: ChildProcess): Promise<ReadyUrls> {
  const [message] = (await once(child, "message")) as [{ type: "ready"; urls: ReadyUrls }];
  return message.urls;
}
