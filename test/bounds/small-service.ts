import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { readMostResidentMiB } from "../support/resident-memory.ts";
import { startService, type ServiceProcess } from "../support/service-process.ts";

/** Memory of the container that the deployment gives to each service. */
const containerMiB = 512;

/** A service that would run out of memory soon if a bound did not hold. */
export type SmallService = ServiceProcess &
  Readonly<{
    /** The same process runs, and has never had as much memory as its container has. */
    expectWell: () => void;
  }>;

type SmallOptions = Readonly<{
  /** Old space of its heap. */
  heapMiB?: number;
  /** Most files that it may open. */
  descriptors?: number;
  args?: readonly string[];
}>;

/** Starts `gatehouse <service>` with a small heap and the environment alone. */
export async function startSmallService(
  service: string,
  env: Readonly<Record<string, string>>,
  { heapMiB = 96, ...options }: SmallOptions = {},
): Promise<SmallService> {
  const started = await startService(service, { NODE_OPTIONS: `--max-old-space-size=${heapMiB}`, ...env }, options);
  const startedAt = readStartTicks(started.pid);
  return {
    ...started,
    expectWell: () => {
      expect(readStartTicks(started.pid), started.output().slice(-2_000)).toBe(startedAt);
      expect(readMostResidentMiB(started.pid)).toBeLessThan(containerMiB);
    },
  };
}

/** When a process started, by which it is known from a later one of the same id (field 22 of proc(5)); of one that ended, "ended". */
function readStartTicks(pid: number): string {
  try {
    const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
    const [state, ...others] = fields.split(" ");
    return state === "Z" ? "ended" : (others[18] ?? "ended");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "ended";
    throw error;
  }
}
