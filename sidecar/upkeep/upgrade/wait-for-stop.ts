import type { Clock } from "#daemon/clock.ts";
import { waitUntil } from "#daemon/time.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import { another } from "./begin-scheduled.ts";
import type { UpgradeRequest } from "./check-release.ts";
import type { UpgradeCheck } from "./check-upgrade.ts";
import type { StepOutcome } from "./next-stage.ts";
import type { ObservedUpgrade } from "./upgrade-observation.ts";

export type WaitForStopDependencies = Readonly<{
  /** Looks at the upgrade once more. */
  check: (request: UpgradeRequest) => Promise<UpgradeCheck>;
  settings: Readonly<{ upgrade: Pick<SidecarSettings["upgrade"], "lateMs"> }>;
  clock: Pick<Clock, "monotonicMs">;
  signal: AbortSignal;
}>;

const tryAgainMs = 5_000;

const mayGoOn = ({ record }: UpgradeCheck) => record !== undefined;

/**
 * Waits until the node may be stopped whose data are copied: nothing speaks against it, and it still is the upgrade that was agreed to. What may pass (a
 * restart, a node that does not answer) is waited for as it is for one that begins by itself.
 */
export async function waitForStop(
  { preCopy }: Pick<UpgradeRecord, "preCopy">,
  { upgrade }: Readonly<{ upgrade: ObservedUpgrade }>,
  { check, settings, clock, signal }: WaitForStopDependencies,
): Promise<StepOutcome> {
  if (preCopy === undefined) return { ok: true };
  const look = async (): Promise<UpgradeCheck> => {
    const found = await check(preCopy.request);
    const { problems } = found.plan;
    upgrade.note({ trouble: problems.length === 0 ? undefined : problems.join("; ") });
    return found;
  };
  const { lateMs: withinMs } = settings.upgrade;
  const { plan, record } = await waitUntil(look, mayGoOn, { everyMs: tryAgainMs, withinMs, signal }, clock);
  upgrade.note({ trouble: undefined });
  if (record === undefined) return { ok: false, why: plan.problems.join("; ") };
  if (plan.digest !== preCopy.digest) return { ok: false, why: another };
  return { ok: true, before: record.before };
}
