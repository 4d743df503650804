import type { UpgradeRecord } from "./upgrade-record.ts";

/**
 * Says what becomes of a stranded upgrade once its hold is lifted: a node that is back was mended, and is left as it is; else the way back is tried again from
 * its beginning. One that nobody has asked for waits for the restart budget. Pure.
 */
export function afterHold(
  record: UpgradeRecord,
  { isBack, isAsked }: Readonly<{ isBack: boolean; isAsked: boolean }>,
  nowMs: number,
): UpgradeRecord {
  if (isBack) return { ...record, end: "settled", note: undefined };
  const begins = { stage: "back-stopping", stageSinceMs: nowMs, attempts: 0, interruptions: 0 } as const;
  return { ...record, ...begins, end: undefined, note: undefined, waitsForBudget: !isAsked };
}
