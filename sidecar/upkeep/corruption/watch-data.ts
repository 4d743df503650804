import { HangingFileSystem } from "#daemon/files/file-deadline.ts";
import type { EventLog } from "#status/event-log.ts";
import { isBetweenVersions } from "../adoption/authority.ts";
import type { ObservedRestarts } from "../restart/restart-observation.ts";
import { forgetStarts } from "../restart/record-start.ts";
import type { DataEvidence } from "../state/data-evidence.ts";
import type { ObservedUpgrade } from "../upgrade/upgrade-observation.ts";
import type { CommandWords } from "../command-words.ts";
import type { ObservedData } from "./data-observation.ts";
import { judgeData, type DataJudgement } from "./judge-data.ts";
import { compareKnownBlock } from "./known-block.ts";
import { lookAtData, takeMark, type DataFound, type LookAtDataDependencies } from "./look-at-data.ts";
import {
  beginOwnRestore,
  checkOwnRestore,
  holdForPerson,
  requestStart,
  type OwnRestoreDependencies,
} from "./own-restore.ts";

/** State that the passes keep between two looks at the data; times are monotonic. */
export type DataWatch = {
  lookedMs?: number;
  checkedMs?: number;
  /** Last finding that calls for action, and since when it has stood. */
  stands?: Readonly<{ what: string; sinceMs: number }>;
};

export type WatchDataDependencies = LookAtDataDependencies &
  OwnRestoreDependencies &
  Readonly<{ events: EventLog; command: CommandWords }>;

export type WatchDataSeen = Readonly<{ data: ObservedData; restarts: ObservedRestarts; upgrade: ObservedUpgrade }>;

/** Longest time between two looks, and between two checks of whether a restore could be begun. */
const lookEveryMs = 60_000;
const checkEveryMs = 3_600_000;

/** Time after which a look that has not ended counts as failed: many times what measuring a snapshot may take. */
const lateMs = 300_000;

/** Time that an automatic restore is reported after it was begun, and after which a replaced block counts as the chain's if no reference says otherwise. */
const dayMs = 86_400_000;

/**
 * Looks from time to time whether the node's data are corrupt, says so, and has them restored if that is set and certain. Looks run alongside later
 * passes; none begins while the node is restarted or upgraded. Returns the time until the next pass is wanted, in ms.
 */
export function watchData(
  watch: DataWatch,
  seen: WatchDataSeen,
  dependencies: WatchDataDependencies,
): number | undefined {
  const { state, clock, log, signal, settings, wake } = dependencies;
  if (seen.data.now().looking !== undefined) {
    noteLate(watch, seen, clock);
    return undefined;
  }
  if (isAtWork(seen, dependencies)) {
    delete watch.stands;
    // What was found before says nothing of a node that was started since.
    delete watch.lookedMs;
    return undefined;
  }
  const everyMs = Math.min(lookEveryMs, Math.ceil(settings.upgrade.autoRestoreAfterMs / 4));
  const waitMs = watch.lookedMs === undefined ? 0 : watch.lookedMs + everyMs - clock.monotonicMs();
  if (waitMs > 0) return waitMs;
  watch.lookedMs = clock.monotonicMs();
  const looking = look(watch, seen, dependencies)
    .then(() => seen.data.note({ failed: undefined }))
    .catch((error: unknown) => {
      if (signal.aborted) return;
      if (!(error instanceof HangingFileSystem))
        log.error({ event: "data-look-failed", err: error }, "looking at the node's data failed; it is tried again");
      seen.data.note({ failed: { why: (error as Error).message, againAtMs: clock.wallMs() + everyMs } });
    })
    .finally(() => {
      watch.lookedMs = clock.monotonicMs();
      seen.data.note({ looking: undefined, ...findRestored(state, clock.wallMs()) });
      wake();
    });
  seen.data.note({ looking });
  return undefined;
}

/** Notes a look that is late: a snapshot, or a program that measures one, may hang. No second look begins alongside it, and the last finding no longer counts. */
function noteLate(
  { lookedMs }: DataWatch,
  { data }: Pick<WatchDataSeen, "data">,
  clock: Pick<WatchDataDependencies["clock"], "monotonicMs" | "wallMs">,
): void {
  const tookMs = lookedMs === undefined ? 0 : clock.monotonicMs() - lookedMs;
  if (tookMs <= lateMs || data.now().failed !== undefined) return;
  const began = new Date(clock.wallMs() - tookMs).toISOString();
  data.note({ failed: { why: `the look that began at ${began} has not ended (allowed: ${lateMs} ms)` } });
}

function isAtWork(
  { restarts }: Pick<WatchDataSeen, "restarts">,
  { state }: Pick<WatchDataDependencies, "state">,
): boolean {
  return restarts.now().running !== undefined || isBetweenVersions(state);
}

async function look(watch: DataWatch, seen: WatchDataSeen, dependencies: WatchDataDependencies): Promise<void> {
  const { state, settings, signal } = dependencies;
  const evidence = state.dataEvidence.get() ?? { failedStarts: [] };
  const found = await lookAtData(evidence, dependencies);
  const judgement = judgeData(evidence, found.look, settings.health);
  const revised = await deriveEvidence(evidence, judgement, found, dependencies);
  // After a restart, an upgrade or a person's command during the look, it is out of date.
  if (signal.aborted || isAtWork(seen, dependencies)) return;
  if (JSON.stringify(state.dataEvidence.get() ?? evidence) !== JSON.stringify(evidence)) return;
  if (revised !== undefined) state.dataEvidence.set(revised);
  let next: string | undefined;
  try {
    next = await applyJudgement(judgement, watch, seen, dependencies);
  } finally {
    seen.data.note({ found: { judgement, next } });
  }
}

/** Derives the evidence to remember after a look; undefined if it stays as it is. */
async function deriveEvidence(
  evidence: DataEvidence,
  judgement: DataJudgement,
  found: DataFound,
  dependencies: WatchDataDependencies,
): Promise<DataEvidence | undefined> {
  const { look: now } = found;
  const { clock, log } = dependencies;
  if (judgement.kind === "another-chain") {
    log.warn(
      { event: "data-of-another-chain" },
      "the node has another first block than before: its blocks are compared from here on",
    );
    return { failedStarts: [] };
  }
  if (judgement.kind === "sound") {
    return {
      ...forgetStarts(evidence),
      mark: await takeMark(evidence.mark, found, dependencies),
      otherSinceMs: undefined,
    };
  }
  const known = evidence.mark?.block;
  const isOther = known !== undefined && compareKnownBlock(known, now.block, now.height) === "replaced";
  if (!isOther) return now.isWell && judgement.kind === "unknown" ? forgetStarts(evidence) : undefined;
  const otherSinceMs = evidence.otherSinceMs ?? clock.wallMs();
  const isKnownElsewhere = now.references.some((block) => block.kind !== "unknown");
  const isChains = now.references.some(
    (block) => block.kind === "found" && block.hash === (now.block.kind === "found" ? now.block.hash : ""),
  );
  const isOld = !isKnownElsewhere && now.isWell && clock.wallMs() - otherSinceMs > dayMs;
  if (!isChains && !isOld) return { ...evidence, otherSinceMs };
  log.warn(
    { event: "data-block-replaced" },
    "the chain itself has another block than the node had: blocks are compared from here on",
  );
  return { ...evidence, mark: evidence.mark && { ...evidence.mark, block: undefined }, otherSinceMs: undefined };
}

/** Does what follows from a judgement, and describes it; undefined if nothing does. */
async function applyJudgement(
  judgement: DataJudgement,
  watch: DataWatch,
  seen: WatchDataSeen,
  dependencies: WatchDataDependencies,
): Promise<string | undefined> {
  const { settings, clock, command, authority } = dependencies;
  const { autoRestore, autoRestoreAfterMs } = settings.upgrade;
  const byHand = `restore them from a snapshot: ${command("restore --snapshot")}`;
  if (autoRestore === "off") return `Nothing is done by itself (upgrade.autoRestore is off); ${byHand}`;
  const signs = judgement.kind === "corrupt" ? judgement.signs : [];
  const nowMs = clock.monotonicMs();
  const isCheckDue = watch.checkedMs === undefined || nowMs - watch.checkedMs >= checkEveryMs;
  const checked =
    judgement.kind === "corrupt" || isCheckDue || seen.data.now().readiness.kind !== "ready"
      ? await checkOwnRestore(signs, dependencies)
      : undefined;
  // A finding during a restart is of no use a moment later.
  if (isAtWork(seen, dependencies)) return undefined;
  if (checked !== undefined) {
    watch.checkedMs = nowMs;
    seen.data.note({ readiness: checked.readiness });
  }
  const isTrial = judgement.kind === "doubt" && judgement.needsStart && mayTryAgain(dependencies);
  if (judgement.kind !== "corrupt" && !isTrial) {
    delete watch.stands;
    return judgement.kind === "doubt" ? `Nothing is done by itself while that is so; ${byHand}` : undefined;
  }
  const what = `${judgement.kind} ${dependencies.state.dataEvidence.get()?.failedStarts.length ?? 0}`;
  if (watch.stands?.what !== what) watch.stands = { what, sinceMs: nowMs };
  const waitMs = watch.stands.sinceMs + autoRestoreAfterMs - nowMs;
  const when = new Date(clock.wallMs() + waitMs).toISOString();
  if (isTrial) {
    if (waitMs > 0) return `One more start is tried at ${when} (upgrade.autoRestoreAfterMs); or ${byHand}`;
    requestStart(dependencies);
    return "One more start is tried now.";
  }
  if (checked?.readiness.kind === "used") {
    if (authority() === "acts") holdForPerson(checked.readiness.by, signs, dependencies);
    return `The snapshot was used by itself before, and is not used twice; ${byHand}`;
  }
  if (checked?.readiness.kind !== "ready")
    return `They can't be restored by themselves (RestoreReady says why); ${byHand}`;
  if (waitMs > 0)
    return `They are restored from ${checked.readiness.sources.join(" and ")} at ${when} (upgrade.autoRestoreAfterMs), unless the node comes back before. Set upgrade.autoRestore to off to keep it from that.`;
  if (!dependencies.budget.allows("ordinary"))
    return `They are restored once the restart budget of the hour allows it (restart.budgetPerHour); or ${byHand}`;
  const problem = beginOwnRestore(checked, seen, dependencies);
  delete watch.checkedMs;
  return problem === undefined ? "They are being restored." : `They could not be restored: ${problem}; ${byHand}`;
}

/** Whether one more start may be tried automatically: the last one failed, as did its roll-back, and no other was tried for this. */
function mayTryAgain({ state, authority }: Pick<WatchDataDependencies, "state" | "authority">): boolean {
  const isTried = state.dataEvidence.get()?.wasTriedAgain === true;
  return authority() === "acts" && !isTried && state.hold.get()?.failed !== undefined;
}

/** Finds the last automatic restore, if it is proved and less than a day old. */
export function findRestored(
  { ownRestores, upgrade }: Pick<WatchDataDependencies["state"], "ownRestores" | "upgrade">,
  wallMs: number,
) {
  const last = ownRestores.get()?.at(-1);
  const record = upgrade.get();
  const isProved = record?.end === "committed" && record.foundCorrupt !== undefined;
  return { restored: isProved && last !== undefined && wallMs - last.atMs < dayMs ? last : undefined };
}
