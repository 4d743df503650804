import type { Clock } from "#daemon/clock.ts";
import { waitUntil } from "#daemon/time.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { HostNodeBefore, UpgradeRecord } from "../state/upgrade-record.ts";
import type { UpgradeRequest } from "./check-release.ts";
import type { UpgradeCheck } from "./check-upgrade.ts";
import type { StageOutcome } from "../../upgrade/next-stage.ts";
import type { ObservedUpgrade } from "./upgrade-observation.ts";

export type WaitForStopDependencies = Readonly<{
  /** Rechecks the upgrade. */
  check: (request: UpgradeRequest) => Promise<UpgradeCheck>;
  settings: Readonly<{ upgrade: Pick<SidecarSettings["upgrade"], "lateMs"> }>;
  clock: Pick<Clock, "monotonicMs">;
  signal: AbortSignal;
}>;

const tryAgainMs = 5_000;

const another = "the programs, node.conf, the data's place or the settings are others than those that were agreed to";

const mayGoOn = ({ record }: UpgradeCheck) => record !== undefined;

/**
 * Waits until the node, whose data has been copied, may be stopped: there are no problems, and the upgrade is still the approved one.
 * Temporary problems (a restart, an unresponsive node) are waited out. Also returns the facts about the node at that time.
 */
export async function waitForStop(
  { preCopy }: Pick<UpgradeRecord, "preCopy">,
  { upgrade }: Readonly<{ upgrade: ObservedUpgrade }>,
  { check, settings, clock, signal }: WaitForStopDependencies,
): Promise<StageOutcome & Readonly<{ before?: HostNodeBefore }>> {
  if (preCopy === undefined) return { kind: "done" };
  const look = async (): Promise<UpgradeCheck> => {
    const found = await check(preCopy.request);
    const { problems } = found.plan;
    upgrade.note({ trouble: problems.length === 0 ? undefined : problems.join("; ") });
    return found;
  };
  const { lateMs: withinMs } = settings.upgrade;
  const { plan, record } = await waitUntil(look, mayGoOn, { everyMs: tryAgainMs, withinMs, signal }, clock);
  upgrade.note({ trouble: undefined });
  if (record === undefined) return { kind: "failed", why: plan.problems.join("; ") };
  if (plan.digest !== preCopy.digest) return { kind: "failed", why: another };
  return { kind: "done", before: record.before };
}
