import { z } from "zod";
import type { StackConfig } from "../config/config-schema.ts";
import { describeInvalid, describeProblem, setKey, type ConfigProblem } from "../config/config-problem.ts";
import { findPublishedAddress, listHostPorts } from "../services/host-ports.ts";
import { choosePeerPort } from "../services/node/peers.ts";
import type { ImageName } from "../services/service-spec.ts";
import { findImageKey } from "../services/row-keys.ts";
import { listImages } from "../services/stack-images.ts";
import type { EngineClient } from "../docker/engine.ts";
import { findCapacityProblems, type HostCapacity } from "./host-capacity.ts";
import { createServer } from "node:net";

export type DockerCheck = Readonly<{
  requestEngine: EngineClient;
  /** Probes a port on this machine; undefined for a remote engine. */
  probe: PortProbe | undefined;
  host?: HostCapacity | undefined;
  /** Prefix for the names of the stack's own containers. */
  prefix: string;
}>;

const containers = z.array(
  z.object({ Names: z.array(z.string()), Ports: z.array(z.object({ PublicPort: z.number().optional() })).nullish() }),
);
const containerPorts = z.object({
  HostConfig: z.object({ PortBindings: z.record(z.string(), z.array(z.object({ HostPort: z.string() }))).nullish() }),
});
const image = z.object({ Config: z.object({ Env: z.array(z.string()).nullish() }).nullish() });
const message = z.object({ message: z.string() });
const engineVersion = z.object({ ApiVersion: z.string() });

/** Min minor version of Engine API 1 that a stack requires: Docker 20.10. */
const apiMinorMin = 41;

/** Min Node version that runs TypeScript natively. */
const oldestNode = 24;

/**
 * Lists problems that prevent a Docker host from running a stack: a missing or outdated engine, limits beyond the host's capacity, ports in
 * use, images that don't exist.
 */
export async function findDockerProblems(config: StackConfig, checks: DockerCheck): Promise<readonly ConfigProblem[]> {
  const engine = await findEngineProblems(config, checks);
  if (engine.length > 0) return engine;
  const { requestEngine, host } = checks;
  const found = await Promise.all([
    findCapacityProblems(config, { requestEngine, host }),
    findPortProblems(config, checks),
    findImageProblems(config, checks),
  ]);
  return found.flat();
}

async function findEngineProblems(
  { dockerEngine }: StackConfig,
  { requestEngine }: DockerCheck,
): Promise<readonly ConfigProblem[]> {
  const key = "dockerEngine";
  try {
    const { status, body } = await requestEngine("/version");
    const api = engineVersion.safeParse(body).data?.ApiVersion;
    if (Number(api?.split(".")[1] ?? 0) >= apiMinorMin) return [];
    const found =
      api === undefined
        ? `${dockerEngine}, which returned HTTP ${status} for /version`
        : `an engine with API version ${api}`;
    return [{ key, message: `found ${found}; expected 1.${apiMinorMin} or later. Update Docker to 20.10 or later.` }];
  } catch (error) {
    const { code, message: said } = error as NodeJS.ErrnoException;
    const wrong = `found ${dockerEngine}, which is not responding (${said});`;
    return code === "EACCES"
      ? [
          {
            key,
            message: `${wrong} no permission for this socket; join its group (often \`docker\`), or run as a user with access.`,
          },
        ]
      : [describeProblem(key, wrong, "start the Docker engine, or set its address", setKey(key), ".")];
  }
}

async function findPortProblems(
  config: StackConfig,
  { requestEngine, probe, prefix }: DockerCheck,
): Promise<readonly ConfigProblem[]> {
  const parsed = containers.safeParse((await requestEngine("/containers/json")).body);
  const holders = new Map(
    (parsed.data ?? []).flatMap(({ Names, Ports }) =>
      (Ports ?? []).map(({ PublicPort }) => [PublicPort, (Names[0] ?? "").replace(/^\//, "")] as const),
    ),
  );
  const restarting = await listRestartingPorts(requestEngine, prefix);
  const found = await Promise.all(
    listWantedPorts(config).map(async ({ key, address, port }): Promise<readonly ConfigProblem[]> => {
      const holder = holders.get(port);
      if (holder?.startsWith(`${prefix}-`) === true || restarting.has(port)) return [];
      const taken =
        holder === undefined ? await probe?.(address, port) : `the container ${holder} already publishes it`;
      if (taken === undefined) return [];
      return [describeProblem(key, `found ${port}, but ${taken}.`, "Free it, or use another one", setKey(key), ".")];
    }),
  );
  return found.flat();
}

/** Lists the ports of the stack's own crash-looping containers, which an engine reports as publishing no ports. */
async function listRestartingPorts(requestEngine: EngineClient, prefix: string): Promise<ReadonlySet<number>> {
  const filters = encodeURIComponent(JSON.stringify({ name: [`^/${prefix}-`], status: ["restarting"] }));
  const listed = containers.safeParse((await requestEngine(`/containers/json?all=true&filters=${filters}`)).body);
  const names = (listed.data ?? []).flatMap(({ Names: [name] }) => name ?? []);
  const inspected = await Promise.all(names.map(async (name) => (await requestEngine(`/containers${name}/json`)).body));
  return new Set(
    inspected
      .flatMap((body) => Object.values(containerPorts.safeParse(body).data?.HostConfig.PortBindings ?? {}))
      .flat()
      .map(({ HostPort }) => Number(HostPort)),
  );
}

type RequestedPort = Readonly<{ key: string; address: string; port: number }>;

function listWantedPorts(config: StackConfig): readonly RequestedPort[] {
  return [
    ...listHostPorts(config).map(({ key, number, at }) => ({
      key,
      address: findPublishedAddress({ at }, config.publishAddress),
      port: number,
    })),
    ...(config.nodeImage === undefined ? [] : [{ key: "peerPort", address: "0.0.0.0", port: choosePeerPort(config) }]),
  ];
}

/** Lists ports of this host that the configuration gives to two services. */
export function findPortConflicts(config: StackConfig): readonly ConfigProblem[] {
  const seen = new Map<number, string>();
  return listWantedPorts(config).flatMap(({ key, port }) => {
    const other = seen.get(port);
    seen.set(port, key);
    if (other === undefined) return [];
    return [describeProblem(key, `found ${port}, as is ${other};`, "set different ports", setKey(key), ".")];
  });
}

async function findImageProblems(
  config: StackConfig,
  { requestEngine }: DockerCheck,
): Promise<readonly ConfigProblem[]> {
  const named = Object.entries(listImages(config)).map(
    ([name, reference]) => [findImageKey(name as ImageName), reference] as const,
  );
  const base = config.gatehouseImage === undefined ? [["baseImage", config.baseImage] as const] : [];
  const found = await Promise.all(
    [...named, ...base].map(async ([key, name]): Promise<readonly ConfigProblem[]> => {
      const here = await requestEngine(`/images/${encodeURI(name)}/json`);
      if (here.status === 200) return key === "baseImage" ? findBaseProblems(config, here.body) : [];
      const there = await requestEngine(`/distribution/${encodeURI(name)}/json`);
      // If a registry requires authentication, the engine's own client handles that later.
      if ([200, 401, 403].includes(there.status)) return [];
      const why = message.safeParse(there.body).data?.message ?? `HTTP ${there.status}`;
      const wrong = `found ${name}, which the engine does not have and can't pull (${why});`;
      return [describeProblem(key, wrong, "correct it", setKey(key), ", or load it into the engine.")];
    }),
  );
  return found.flat();
}

/** Reports a base image with too old a Node: Node's own images state the version in an environment variable. The build reports any other. */
function findBaseProblems({ baseImage }: StackConfig, body: unknown): readonly ConfigProblem[] {
  const environment = image.safeParse(body).data?.Config?.Env ?? [];
  const version = environment.find((line) => line.startsWith("NODE_VERSION="))?.slice("NODE_VERSION=".length);
  if (version === undefined || Number.parseInt(version, 10) >= oldestNode) return [];
  const expected = `expected an image with Node ${oldestNode} or later`;
  return [describeInvalid("baseImage", `found ${baseImage}, which has Node ${version}; ${expected}.`)];
}

/** Tries to listen on a port; resolves to the reason for a failure, or to `undefined` if the port is free. */
export type PortProbe = (address: string, port: number) => Promise<string | undefined>;

export const probePort: PortProbe = (address, port) =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", ({ code }: NodeJS.ErrnoException) => resolve(describeBindError(code, address)));
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });

function describeBindError(code: string | undefined, address: string): string | undefined {
  if (code === "EADDRINUSE") return `another process on this machine listens on it at ${address}`;
  if (code === "EADDRNOTAVAIL") return `${address} is not an address of this machine`;
  // Privileged ports are left to the engine.
  return undefined;
}
