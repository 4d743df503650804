import { chmod, readFile, writeFile } from "node:fs/promises";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { startContainer, type TestContainer } from "../support/engine/container.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { writeOwnedConfig } from "../support/node/owned-node.ts";
import { startService } from "../support/service-process.ts";
import { until } from "#daemon/testing/until.ts";

/** Resources of a deployed sidecar (`infra/docker/container-args.ts`), with fewer file descriptors than most engines and pods allow. */
export const limits = { memoryMebibytes: 512, cpus: 1, descriptors: 1_024 } as const;

export type AttackedSidecar = AsyncDisposable &
  Readonly<{
    gatewayPort: number;
    statusUrl: string;
    /** Current and peak resident memory of its process (proc(5)). */
    memory: () => Promise<Readonly<{ nowMiB: number; peakMiB: number }>>;
    /** Number of exits since its first start, regardless of what restarted it. */
    ends: () => Promise<number>;
  }>;

/** The options with which the deployment confines a service, except the network options. */
const confinement: readonly string[] = [
  "--network=host",
  "--read-only",
  "--tmpfs=/tmp",
  "--cap-drop=ALL",
  "--init",
  "--security-opt=no-new-privileges:true",
  "--restart=unless-stopped",
  `--memory=${limits.memoryMebibytes}m`,
  `--memory-swap=${limits.memoryMebibytes}m`,
  `--cpus=${limits.cpus}`,
  `--ulimit=nofile=${limits.descriptors}:${limits.descriptors}`,
];
/** Max time until a container's service is ready. */
export const startWithinMs = 120_000;

/** Starts a sidecar from this checkout, as {@link startLocally} does. */
export function startLocalSidecar(nodePort: number): Promise<AttackedSidecar> {
  return startSidecar(nodePort, (folder, env) => startLocally("sidecar", env(folder)));
}

/** Starts a sidecar from its image, confined as in the deployment, on the host's network. */
export function startContainedSidecar(image: string, nodePort: number): Promise<AttackedSidecar> {
  return startSidecar(nodePort, (folder, env) => startContained(image, "sidecar", { folder, env: env("/data") }));
}

type StartSidecar = (
  folder: string,
  env: (directory: string) => Readonly<Record<string, string>>,
) => Promise<AttackedService>;

async function startSidecar(nodePort: number, start: StartSidecar): Promise<AttackedSidecar> {
  await using starting = new AsyncDisposableStack();
  const { env, gatewayPort, statusPort, workspace } = await prepare(nodePort);
  starting.use(workspace);
  const { memory, ends } = starting.use(await start(workspace.directory, env));
  const statusUrl = `http://127.0.0.1:${statusPort}`;
  await until("the sidecar responds", startWithinMs, () => fetch(`${statusUrl}/livez`).then(({ ok }) => ok));
  const resources = starting.move();
  return { memory, ends, gatewayPort, statusUrl, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

export type AttackedService = AsyncDisposable & Pick<AttackedSidecar, "memory" | "ends">;

/**
 * Starts a service from this checkout, with the same descriptor and heap limits as in its container; its memory has no other limit.
 */
export async function startLocally(service: string, env: Readonly<Record<string, string>>): Promise<AttackedService> {
  const flags = `--max-old-space-size=${limits.memoryMebibytes / 2} --v8-pool-size=1 --disable-warning=ExperimentalWarning`;
  const own = { NODE_OPTIONS: flags, MALLOC_ARENA_MAX: "1" };
  const process = await startService(service, { ...env, ...own }, { descriptors: limits.descriptors });
  const status = () => readFile(`/proc/${process.pid}/status`, "utf8");
  return {
    memory: async () => parseMemory(await status()),
    ends: () =>
      status().then(
        () => 0,
        () => 1,
      ),
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

export async function startContained(
  image: string,
  service: string,
  { folder, env }: Readonly<{ folder: string; env: Readonly<Record<string, string>> }>,
): Promise<AttackedService> {
  const environment = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  const options = [...confinement, `--volume=${folder}:/data`, "--volume=/var/lib/gatehouse", ...environment];
  const container = await startContainer({ image, command: [service], options });
  return { ...readContainer(container), [Symbol.asyncDispose]: () => container[Symbol.asyncDispose]() };
}

/** Reads the memory of a container's service, and the number of its exits. */
function readContainer(container: TestContainer): Pick<AttackedSidecar, "memory" | "ends"> {
  return {
    memory: async () => parseMemory(await readFile(`/proc/${await findProcess(container)}/status`, "utf8")),
    ends: async () => {
      const told = await container.inspect("{{.RestartCount}} {{.State.OOMKilled}} {{.State.Running}}");
      const [restarts, wasKilled, isRunning] = told.split(" ");
      return Number(restarts) + Number(wasKilled === "true") + Number(isRunning !== "true");
    },
  };
}

/** Finds the service's own process; the container's first process only reaps zombies. */
async function findProcess(container: TestContainer): Promise<number> {
  const init = await container.inspect("{{.State.Pid}}");
  const children = await readFile(`/proc/${init}/task/${init}/children`, "utf8");
  return Number(children.trim().split(" ")[0]);
}

function parseMemory(status: string) {
  const mebibytes = (name: string) =>
    Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1_024);
  return { nowMiB: mebibytes("VmRSS"), peakMiB: mebibytes("VmHWM") };
}

/** Prepares a workspace whose node.conf needs no correction, and the non-default settings of its sidecar. */
async function prepare(nodePort: number) {
  const [gatewayPort = 0, statusPort = 0] = await findFreePorts(2);
  const node = await createFakeNode();
  await writeFile(node.configPath, writeOwnedConfig("/data", "attacked"));
  for (const path of [node.workspace, node.binDirectory]) await chmod(path, 0o777);
  await chmod(node.configPath, 0o666);
  return {
    gatewayPort,
    statusPort,
    workspace: { directory: node.workspace, [Symbol.asyncDispose]: node[Symbol.asyncDispose] },
    env: (directory: string): Readonly<Record<string, string>> => ({
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: directory,
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: `http://127.0.0.1:${nodePort}`,
      GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: `ws://127.0.0.1:${nodePort}`,
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
      GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
      GATEHOUSE_SIDECAR_LISTEN_PORT: String(statusPort),
      GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: String(gatewayPort),
    }),
  };
}
