import type { BootTime, Clock } from "#daemon/clock.ts";
import { createSlidingWindow } from "#daemon/sliding-window.ts";
import type { StateStore } from "../state/state-store.ts";

export type RestartBudget = ReturnType<typeof createRestartBudget>;

type LastRestart = Readonly<{ beganMs: number; endedMs: number | undefined }>;

type RestartPurpose = "ordinary" | "roll-back";

const hourMs = 3_600_000;

/**
 * Counts restarts in a sliding hour: this process's by the monotonic clock, an earlier process's by the time since boot, those from before
 * boot by the wall clock, for lack of anything better. So a clock jump neither drops restarts early nor keeps them longer.
 */
export function createRestartBudget(
  { perHour }: Readonly<{ perHour: number }>,
  { store, clock, boot }: Readonly<{ store: StateStore; clock: Clock; boot: () => BootTime }>,
) {
  const { database } = store;
  const insert = database.prepare("INSERT INTO restart (at_ms, reason, boot_id, boot_ms) VALUES (?, ?, ?, ?)");
  const forget = database.prepare(
    "DELETE FROM restart WHERE rowid NOT IN (SELECT rowid FROM restart ORDER BY rowid DESC LIMIT ?)",
  );
  let last: LastRestart | undefined;
  const startMs = clock.monotonicMs();
  const now = { ...boot(), wallMs: clock.wallMs() };
  const computeAge = (row: Readonly<Record<string, unknown>>) =>
    now.bootId !== undefined && row["boot_id"] === now.bootId
      ? now.sinceBootMs - Number(row["boot_ms"])
      : now.wallMs - Number(row["at_ms"]);
  const storedRestarts = database.prepare("SELECT at_ms, boot_id, boot_ms FROM restart").all();
  const beforeMs = storedRestarts.map((row) => startMs - Math.max(0, computeAge(row)));
  const made = createSlidingWindow(hourMs, clock.monotonicMs, beforeMs);
  const used = () => made.times().length;
  const getLimit = (purpose: RestartPurpose) => (purpose === "roll-back" || perHour < 2 ? perHour : perHour - 1);
  /** Returns when one more restart will be allowed: the time, how long until then, and whether the last restart of the budget is reserved for another purpose; undefined if one is allowed now or never will be. */
  const findNext = (purpose: RestartPurpose) => {
    const limit = getLimit(purpose);
    if (limit === 0 || used() < limit) return undefined;
    const oldestFirst = made.times().toSorted((a, b) => a - b);
    const freedMs = oldestFirst.at(-limit);
    if (freedMs === undefined) return undefined;
    const waitMs = Math.max(0, freedMs + hourMs - clock.monotonicMs());
    return { waitMs, at: new Date(clock.wallMs() + waitMs).toISOString(), isLastReserved: limit < perHour };
  };
  let number = 0;
  return {
    used,
    /** Whether one more restart is allowed. An ordinary restart leaves one for its rollback, if the budget has more than one. */
    allows: (purpose: RestartPurpose) => used() < getLimit(purpose),
    findNext,
    /** Explains, in a clause, until when an exhausted budget allows no restart. */
    explainExhausted: (purpose: RestartPurpose) => {
      const next = findNext(purpose);
      if (next === undefined) return "restart.budgetPerHour allows none";
      return `restart.budgetPerHour allows the next restart at ${next.at} (${used()} in the last hour)`;
    },
    last: () => last,
    end: () => {
      last = last && { ...last, endedMs: clock.monotonicMs() };
    },
    /** Counts a restart. Call this before the restart: the count is on disk when the call returns, if the state is writable. */
    record: (reason: string) => {
      const { bootId, sinceBootMs } = boot();
      const row = [Math.round(clock.wallMs()), reason, bootId ?? null, Math.round(sinceBootMs)] as const;
      // Like the table, retains only the newest restarts, at most as many as the budget allows.
      number = (number + 1) % Math.max(1, perHour);
      store.write(`restart ${number}`, {
        run: () => {
          insert.run(...row);
          forget.run(Math.max(1, perHour));
        },
      });
      made.add();
      last = { beganMs: clock.monotonicMs(), endedMs: undefined };
    },
  };
}
