import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { until } from "#daemon/testing/until.ts";
import type { ServiceName } from "../../cli/service-definitions.ts";
import type { ConstantOverrides } from "./constant-overrides.ts";
import { importConstants } from "./programs/import-constants.ts";
import { gatehouseProgram } from "./programs/place.ts";

export type StackPorts = Readonly<
  Record<
    | "node"
    | "nodeWebSocket"
    | "pushgateway"
    | "sidecar"
    | "gateway"
    | "facilitator"
    | "facilitatorOperations"
    | "resourceServer"
    | "resourceServerOperations"
    | "upstream",
    number
  >
>;

export type RunningStack = AsyncDisposable &
  Readonly<{
    ports: StackPorts;
    env: Readonly<Record<string, string>>;
    stateDirectory: string;
    process: ChildProcess;
    output: () => string;
    exited: Promise<number | null>;
    stop: () => Promise<number | null>;
  }>;

export async function findStackPorts(): Promise<Readonly<{ ports: StackPorts; env: Record<string, string> }>> {
  const free = await findFreePorts(10);
  const [node = 0, nodeWebSocket = 0, pushgateway = 0, sidecar = 0, gateway = 0, facilitator = 0] = free;
  const [resourceServer = 0, resourceServerOperations = 0, upstream = 0, facilitatorOperations = 0] = free.slice(6);
  const sellers = { facilitator, facilitatorOperations, resourceServer, resourceServerOperations, upstream };
  return {
    ports: { node, nodeWebSocket, pushgateway, sidecar, gateway, ...sellers },
    env: {
      GATEHOUSE_DEVNET_NODE_HTTP_PORT: String(node),
      GATEHOUSE_DEVNET_NODE_WEB_SOCKET_PORT: String(nodeWebSocket),
      GATEHOUSE_PUSHGATEWAY_LISTEN_PORT: String(pushgateway),
      GATEHOUSE_SIDECAR_LISTEN_PORT: String(sidecar),
      GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: String(gateway),
      GATEHOUSE_FACILITATOR_LISTEN_PORT: String(facilitator),
      GATEHOUSE_FACILITATOR_OPERATIONS_PORT: String(facilitatorOperations),
      GATEHOUSE_RESOURCE_SERVER_LISTEN_PORT: String(resourceServer),
      GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PORT: String(resourceServerOperations),
      GATEHOUSE_UPSTREAM_LISTEN_PORT: String(upstream),
    },
  };
}

/**
 * Runs `gatehouse stack` with its own ports and state directory, and other values for its services' constants; returns as soon as the
 * process has started.
 */
export async function spawnStack(
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  constants: Readonly<Partial<Record<ServiceName, ConstantOverrides>>> = {},
): Promise<RunningStack> {
  const imports = Object.entries(constants).map(([name, ofService]) => importConstants(name as ServiceName, ofService));
  const stateDirectory = await mkdtemp(join(tmpdir(), "gatehouse-stack-"));
  const { ports, env: portsEnv } = await findStackPorts();
  const command = [process.execPath, gatehouseProgram, "stack", "--state-dir", stateDirectory, ...args];
  // The usual default umask, with which files are readable by everyone unless a process sets their mode.
  const child = spawn("sh", ["-c", 'umask 022; exec "$@"', "sh", ...command], {
    env: { ...process.env, ...portsEnv, NODE_OPTIONS: imports.join(" "), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const exited = once(child, "close").then(([status]) => status as number | null);
  const stop = async () => {
    child.kill("SIGINT");
    return exited;
  };
  return {
    ports,
    env: portsEnv,
    stateDirectory,
    process: child,
    output: () => output,
    exited,
    stop,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await stop();
      await rm(stateDirectory, { recursive: true, force: true });
    },
  };
}

export async function startStack(
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): Promise<RunningStack> {
  const stack = await spawnStack(args, env);
  await until("the stack is up and the first request is paid", 120_000, () => {
    if (stack.process.exitCode !== null) throw new Error(`the stack ended: ${stack.output()}`);
    return stack.output().includes("Ctrl-C stops everything.");
  }).catch(async (error: unknown) => {
    await stack[Symbol.asyncDispose]();
    throw new Error(`${(error as Error).message}; it printed:\n${stack.output()}`);
  });
  return stack;
}
