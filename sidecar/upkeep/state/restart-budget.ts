import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../clock.ts";

/** How many restarts an hour may have. */
export type RestartBudget = Readonly<{
  /** Restarts in the last hour. */
  used: () => number;
  /** Whether one more is allowed; an ordinary restart leaves one for its roll-back, if the budget has more than one. */
  allows: (purpose: RestartPurpose) => boolean;
  /** Counts a restart; on disk when this returns, so that it is called before the restart. */
  record: (reason: string) => void;
}>;

type RestartPurpose = "ordinary" | "roll-back";

const hourMs = 3_600_000;

/**
 * Counts restarts in a sliding hour. Those of this process age by the monotonic clock, so that a jump of the wall clock neither
 * forgives nor prolongs them; older ones age by the wall clock, and one that lies in the future counts as now.
 */
export function createRestartBudget(
  { perHour }: Readonly<{ perHour: number }>,
  { database, clock }: Readonly<{ database: DatabaseSync; clock: Clock }>,
): RestartBudget {
  const insert = database.prepare("INSERT INTO restart (at_ms, reason) VALUES (?, ?)");
  const forget = database.prepare(
    "DELETE FROM restart WHERE rowid NOT IN (SELECT rowid FROM restart ORDER BY rowid DESC LIMIT ?)",
  );
  const startMs = clock.monotonicMs();
  const nowMs = clock.wallMs();
  let agesMs = database
    .prepare("SELECT at_ms FROM restart")
    .all()
    .map((row) => startMs - Math.max(0, nowMs - Number(row["at_ms"])));
  const used = () => {
    agesMs = agesMs.filter((atMs) => clock.monotonicMs() - atMs < hourMs);
    return agesMs.length;
  };
  return {
    used,
    allows: (purpose) => used() < (purpose === "roll-back" || perHour < 2 ? perHour : perHour - 1),
    record: (reason) => {
      insert.run(Math.round(clock.wallMs()), reason);
      forget.run(Math.max(1, perHour));
      agesMs.push(clock.monotonicMs());
    },
  };
}
