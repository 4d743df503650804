import type { Logger } from "#daemon/log/log.ts";
import { createDesiredState, hashDesiredState } from "../plan/desired-state.ts";
import { ownRestoresKept, type OwnRestore } from "../state/data-evidence.ts";
import { beginUpgrade, type BeginUpgradeDependencies } from "../upgrade/begin-upgrade.ts";
import { checkRestore, type RestoreCheck } from "../upgrade/check-restore.ts";
import type { CheckUpgradeDependencies } from "../upgrade/check-upgrade.ts";
import { identifySnapshot } from "../upgrade/data/snapshot-source.ts";
import type { ObservedUpgrade } from "../upgrade/upgrade-observation.ts";
import type { RestoreReadiness } from "./data-observation.ts";

export type OwnRestoreDependencies = CheckUpgradeDependencies & BeginUpgradeDependencies & Readonly<{ log: Logger }>;

/** Check of a restore that could be begun now; `readiness` says whether it could. */
export type CheckedRestore = Readonly<{
  readiness: RestoreReadiness;
  check: RestoreCheck;
  snapshot: string | undefined;
}>;

/** Checks whether the data could be restored automatically now. Changes nothing. `signs`: signs of corrupt data. */
export async function checkOwnRestore(
  signs: readonly string[],
  dependencies: OwnRestoreDependencies,
): Promise<CheckedRestore> {
  const { settings, state } = dependencies;
  const { autoRestore } = settings.upgrade;
  const used = state.ownRestores.get() ?? [];
  const check = await checkRestore(autoRestore === "kept" ? undefined : autoRestore, dependencies, { signs });
  const { record, plan, sources } = check;
  const snapshot = sources.length === 0 ? undefined : await identifySnapshot(sources);
  const by = used.find((each) => each.snapshot === snapshot);
  if (by !== undefined) return { readiness: { kind: "used", by }, check, snapshot };
  const problems = [...plan.problems, ...findLimits(dependencies)];
  if (record === undefined || problems.length > 0)
    return { readiness: { kind: "not-ready", problems }, check, snapshot };
  return { readiness: { kind: "ready", sources }, check, snapshot };
}

/** Finds settings with which corrupt data are not found, or nothing can be done about them. */
function* findLimits({ settings }: Pick<OwnRestoreDependencies, "settings">): Generator<string> {
  const { lag, restart } = settings;
  if (!lag.restart)
    yield "lag.restart is off, so that a node that stands still is not restarted, and nothing is learned of its data";
  if (restart.budgetPerHour < 2)
    yield `restart.budgetPerHour is ${restart.budgetPerHour}, which leaves no start for it`;
}

/** Begins an automatic restore, and remembers in the same write that the snapshot is used. Returns why it did not begin; undefined if it did. */
export function beginOwnRestore(
  { check, snapshot }: CheckedRestore,
  seen: Readonly<{ upgrade: ObservedUpgrade }>,
  dependencies: OwnRestoreDependencies,
): string | undefined {
  const { state, log, clock } = dependencies;
  const { plan, record } = check;
  if (record?.restoredFrom === undefined || snapshot === undefined) return plan.problems.join("; ");
  const used: OwnRestore = { snapshot, sources: record.restoredFrom, atMs: clock.wallMs() };
  let why: string | undefined;
  state.atomically(() => {
    const begun = beginUpgrade(check, plan.digest, seen, dependencies);
    if (begun.result !== "begun") {
      why = begun.plan.problems.join("; ");
      return;
    }
    state.ownRestores.set([...(state.ownRestores.get() ?? []), used].slice(-ownRestoresKept));
  });
  if (why !== undefined) return why;
  log.warn(
    { event: "data-restore-begun", from: record.restoredFrom, signs: record.foundCorrupt },
    "the node's data are found corrupt, and are restored",
  );
  return undefined;
}

/** Has one more start tried after a failed roll-back, because too few starts have failed to judge the data by. The restart budget bounds it like any other. */
export function requestStart({ state, events, log, wake }: OwnRestoreDependencies): void {
  const hold = state.hold.get();
  if (hold?.failed === undefined) return;
  const { failed } = hold;
  const why = "more starts have to fail before the node's data are taken for corrupt";
  state.atomically(() => {
    const lifted = { by: "sidecar", outcome: "success", before: { hold: hold.message }, after: {} } as const;
    events.add("hold", `The hold is lifted for one more start of the node: ${why}.`, undefined, lifted);
    state.hold.set(undefined);
    state.retry.set({ ...failed, why });
    state.dataEvidence.set({ failedStarts: [], ...state.dataEvidence.get(), wasTriedAgain: true });
  });
  log.info({ event: "hold-lifted", why }, "the hold is lifted for one more start of the node");
  wake();
}

/** Sets a hold if data are found corrupt again after an automatic restore: the same would be tried for ever. */
export function holdForPerson(
  by: OwnRestore,
  signs: readonly string[],
  { state, events, clock, settings, log }: OwnRestoreDependencies,
): void {
  const began = `The node's data are found corrupt, and a restore was begun by itself before, at ${new Date(by.atMs).toISOString()}`;
  const hold = state.hold.get();
  if (hold?.message.startsWith(began) === true) return;
  const message =
    `${began}, from ${by.sources.join(" and ")}; one snapshot is not used twice. ${signs.join("; ")}. ${hold?.message ?? ""}`.trim();
  const hash = hashDesiredState(createDesiredState(settings, ""));
  state.atomically(() => {
    state.hold.set(hold === undefined ? { desired: { hash }, message, sinceMs: clock.wallMs() } : { ...hold, message });
    events.add("hold", message, undefined, { by: "sidecar", outcome: "failure", after: { hold: message } });
  });
  log.error({ event: "data-corrupt-again" }, message);
}
