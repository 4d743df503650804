import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { readMostResidentMiB } from "../support/resident-memory.ts";
import type { ConstantOverrides } from "../support/constant-overrides.ts";
import { startService, type ReadyUrls, type ServiceProcess } from "../support/service-process.ts";

/** Memory of the container that the deployment gives to each service. */
const containerMiB = 512;

export type ExampleService = ServiceProcess &
  Readonly<{
    /** Expects that the same process is still running, and has never exceeded its container's memory. */
    expectWell: () => void;
  }>;

/**
 * Factors by which its wall clock and its monotonic clock run faster, and by which its waits of five seconds end
 * sooner; see `accelerated-clock.ts`.
 */
export type Acceleration = Readonly<{ clock?: number; monotonic?: number; waits?: number }>;

type SmallOptions = Readonly<{
  /** Size of its heap's old space. */
  heapMiB?: number;
  descriptors?: number;
  args?: readonly string[];
  /** Reads the URLs of a command that reports them in another form than a service. */
  reports?: (child: ChildProcess) => Promise<ReadyUrls>;
  accelerated?: Acceleration;
  constants?: ConstantOverrides;
}>;

/** URL of the module that speeds up a process's clocks, imported before its program. */
const acceleratedClock = new URL("accelerated-clock.ts", import.meta.url).href;

export async function startExampleService(
  service: string,
  env: Readonly<Record<string, string>>,
  { heapMiB = 96, accelerated, ...options }: SmallOptions = {},
): Promise<ExampleService> {
  const { clock = 1, monotonic = 1, waits = 1 } = accelerated ?? {};
  const query = `clock=${clock}&monotonic=${monotonic}&waits=${waits}`;
  const acceleration = accelerated === undefined ? "" : ` --import=${acceleratedClock}?${query}`;
  const startedService = await startService(
    service,
    { NODE_OPTIONS: `--max-old-space-size=${heapMiB}${acceleration}`, ...env },
    options,
  );
  const startedAt = readStartTicks(startedService.pid);
  return {
    ...startedService,
    expectWell: () => {
      expect(readStartTicks(startedService.pid), startedService.output().slice(-2_000)).toBe(startedAt);
      expect(readMostResidentMiB(startedService.pid)).toBeLessThan(containerMiB);
    },
  };
}

/**
 * Reads the start time, which distinguishes a process from a later one with the same id (field 22 of proc(5)); "ended"
 * if it has exited.
 */
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
