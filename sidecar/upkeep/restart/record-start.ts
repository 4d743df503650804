import { readFile } from "node:fs/promises";
import type { Clock } from "#daemon/clock.ts";
import { failedStartsKept, type DataEvidence, type FailedStart } from "../state/data-evidence.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { Verification } from "./restart-verification.ts";

export type StartRecorder = Readonly<{
  /** Begins a start; returns a function to call with its end, and with the hash of the node.conf that it was made with. */
  begin: () => Promise<(verified: Verification, configHash: string | undefined) => Promise<void>>;
}>;

export type StartRecorderDependencies = Readonly<{
  state: Pick<UpkeepState, "dataEvidence">;
  clock: Pick<Clock, "wallMs">;
  /** File in which Linux counts the processes that it has killed for lack of memory. */
  memoryPath?: string;
}>;

/** Creates a recorder that keeps failed starts in the state, and forgets them once a start succeeds. */
export function createStartRecorder({
  state,
  clock,
  memoryPath = "/proc/vmstat",
}: StartRecorderDependencies): StartRecorder {
  return {
    begin: async () => {
      const before = await countMemoryKills(memoryPath);
      return async (verified, configHash) => {
        const known = state.dataEvidence.get() ?? { failedStarts: [] };
        if (verified.ok) return state.dataEvidence.set(forgetStarts(known));
        const { message, end } = verified;
        const lackedMemory = (await countMemoryKills(memoryPath)) > before;
        const afterMs = end?.kind === "ended" ? end.afterMs : undefined;
        const start: FailedStart = {
          atMs: clock.wallMs(),
          kind: end?.kind,
          afterMs,
          configHash,
          message,
          lackedMemory,
        };
        state.dataEvidence.set({ ...known, failedStarts: [...known.failedStarts, start].slice(-failedStartsKept) });
      };
    },
  };
}

/** Forgets the failed starts, for a node that is well again. Pure. */
export function forgetStarts(known: DataEvidence): DataEvidence {
  return { ...known, failedStarts: [], wasTriedAgain: undefined };
}

/** Counts the processes that Linux has killed for lack of memory since its start (`oom_kill` of proc_vmstat(5)); 0 if it does not count them. */
async function countMemoryKills(path: string): Promise<number> {
  const text = await readFile(path, "utf8").catch(() => "");
  return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
}
