import { readFile } from "node:fs/promises";
import type { Clock } from "#daemon/clock.ts";
import { failedStartsStored, type DataEvidence, type FailedStart } from "../state/data-evidence.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { Verification } from "./restart-verification.ts";

export type StartRecorder = ReturnType<typeof createStartRecorder>;

type StartRecorderDependencies = Readonly<{
  state: Pick<UpkeepState, "dataEvidence">;
  clock: Pick<Clock, "wallMs">;
  /** File in which Linux counts the processes that were killed because memory ran out. */
  memoryPath?: string;
}>;

/** Creates a recorder that stores failed starts in the state, and forgets them once a start succeeds. */
export function createStartRecorder({ state, clock, memoryPath = "/proc/vmstat" }: StartRecorderDependencies) {
  return {
    /** Records a start; returns a function to be called with its outcome and the hash of its node.conf. */
    begin: async () => {
      const before = await countMemoryKills(memoryPath);
      return async (verified: Verification, configHash: string | undefined): Promise<void> => {
        const known = state.dataEvidence.get() ?? { failedStarts: [] };
        if (verified.ok) return state.dataEvidence.set(forgetStarts(known));
        const { message } = verified;
        const end = hasRunNothing(message) ? undefined : verified.end;
        const lackedMemory = (await countMemoryKills(memoryPath)) > before;
        const afterMs = end?.kind === "ended" ? end.afterMs : undefined;
        const kind = end?.kind;
        const start: FailedStart = { atMs: clock.wallMs(), kind, afterMs, configHash, message, lackedMemory };
        state.dataEvidence.set({ ...known, failedStarts: [...known.failedStarts, start].slice(-failedStartsStored) });
      };
    },
  };
}

/** Messages from systems, shells and programs that couldn't run another program (execve(2); POSIX, "Exit Status for Commands"). */
const notRun =
  /fork\/exec |exec format error|command not found|: not found|executable file not found|cannot execute|status 12[67]\b/i;

/** Whether a failed start reports that it couldn't run a program. Such a start is not evidence about the data, whatever its exit status. */
function hasRunNothing(message: string): boolean {
  return notRun.test(message);
}

/** Forgets the failed starts of a node that has recovered. Pure. */
export function forgetStarts(known: DataEvidence): DataEvidence {
  return { ...known, failedStarts: [] };
}

/** Counts the processes that Linux has killed since boot because memory ran out (`oom_kill` in proc_vmstat(5)); 0 if Linux doesn't count them. */
async function countMemoryKills(path: string): Promise<number> {
  const text = await readFile(path, "utf8").catch(() => "");
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
}
