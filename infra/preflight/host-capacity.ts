import { readFileSync } from "node:fs";
import { z } from "zod";
import { readDiskSpace } from "#daemon/files/disk-space.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { describeProblem, setKey, type ConfigProblem } from "../config/config-problem.ts";
import type { ResourceLimits } from "../services/service-spec.ts";
import { realNodeLimits } from "../services/node-spec.ts";
import { chooseNodeFamily } from "../services/node/node-image.ts";
import type { EngineClient } from "../docker/engine.ts";

/** Capacity of this machine as a Docker host; the engine does not report it. */
export type HostCapacity = Readonly<{
  /** Max open files per process (`fs.nr_open`); undefined if unknown. */
  openFilesMax: () => Promise<number | undefined>;
  /** Free bytes on the file system that contains a directory; undefined if unknown. */
  freeBytes: (directory: string) => Promise<number | undefined>;
}>;

export const hostCapacity: HostCapacity = {
  openFilesMax: () => attempt(async () => Number(readFileSync("/proc/sys/fs/nr_open", "utf8"))),
  freeBytes: (directory) => attempt(async () => (await readDiskSpace(directory)).freeBytes),
};

async function attempt(read: () => Promise<number>): Promise<number | undefined> {
  try {
    return await read();
  } catch {
    // Another operating system, or a directory that only root can read: the capacity is unknown, and the engine checks it later.
    return undefined;
  }
}

const info = z.object({ NCPU: z.int(), MemTotal: z.number(), DockerRootDir: z.string().optional() });

const mebibyte = 1_048_576;

/** Min free disk for a real node's images, first blocks and logs, in GiB; its chain data grows from there. */
const diskGibibytesMin = 20;

/** Lists limits that exceed the capacity of a Docker host: an engine rejects excess CPUs only when it creates the service's container. */
export async function findCapacityProblems(
  config: StackConfig,
  { requestEngine, host }: Readonly<{ requestEngine: EngineClient; host: HostCapacity | undefined }>,
): Promise<readonly ConfigProblem[]> {
  const found = info.safeParse((await requestEngine("/info")).body).data;
  const engine = found === undefined ? [] : findLimitProblems(config, found);
  if (host === undefined || config.nodeImage === undefined) return engine;
  const files = await findOpenFilesProblems(config, host);
  return [...engine, ...files, ...(await findDiskProblems(found?.DockerRootDir, host))];
}

function findLimitProblems(
  config: StackConfig,
  { NCPU: cpus, MemTotal }: z.output<typeof info>,
): readonly ConfigProblem[] {
  const memoryMebibytes = Math.floor(MemTotal / mebibyte);
  const byDefault = config.nodeImage === undefined ? {} : { node: realNodeLimits };
  const limits: Readonly<Record<string, ResourceLimits>> = { ...byDefault, ...config.limits };
  return Object.entries(limits)
    .filter(([, limit]) => limit.cpus > cpus || limit.memoryMebibytes > memoryMebibytes)
    .map(([service, limit]) => {
      const key = `limits.${service}`;
      return describeProblem(
        key,
        `found ${limit.cpus} CPUs and ${limit.memoryMebibytes} MiB, but this Docker host has ${cpus} CPUs and ${memoryMebibytes} MiB.`,
        "Lower both limits",
        setKey(`${key}.cpus`, { value: String(Math.min(limit.cpus, cpus)) }),
        " and",
        setKey(`${key}.memoryMebibytes`, { value: String(Math.min(limit.memoryMebibytes, memoryMebibytes)) }),
        ", or use a larger host.",
      );
    });
}

async function findOpenFilesProblems(
  config: StackConfig,
  { openFilesMax }: HostCapacity,
): Promise<readonly ConfigProblem[]> {
  const wanted = config.nodeUlimits?.nofile ?? chooseNodeFamily(config).image.openFiles;
  const most = await openFilesMax();
  if (wanted === undefined || most === undefined || wanted <= most) return [];
  return [
    describeProblem(
      "nodeUlimits.nofile",
      `found ${wanted}, but this host's fs.nr_open is ${most}, so the engine would not start the node.`,
      `Raise it with \`sudo sysctl -w fs.nr_open=${wanted}\`, and in /etc/sysctl.d to persist it, or lower the limit`,
      setKey("nodeUlimits.nofile", { value: String(most) }),
      ".",
    ),
  ];
}

async function findDiskProblems(
  directory: string | undefined,
  { freeBytes }: HostCapacity,
): Promise<readonly ConfigProblem[]> {
  const free = directory === undefined ? undefined : await freeBytes(directory);
  if (free === undefined || free >= diskGibibytesMin * 1_024 * mebibyte) return [];
  const gibibytes = Math.floor(free / mebibyte / 1_024);
  return [
    {
      key: "nodeImage",
      message: `found ${gibibytes} GiB free in ${directory}, where the engine keeps the node's data; expected ${diskGibibytesMin} GiB or more. Free space, or move the engine's data to another disk (data-root in /etc/docker/daemon.json).`,
    },
  ];
}
