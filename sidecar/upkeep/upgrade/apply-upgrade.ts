import { bootTime } from "#daemon/clock.ts";
import type { ServiceContext } from "#daemon/service.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { EventLog } from "#status/event-log.ts";
import { deriveMeaning } from "#node/conf/meaning.ts";
import type { Authority } from "../adoption/authority.ts";
import { planWithEarlierValues } from "../config/healthy-config.ts";
import type { ObservedConfig } from "../config/config-observation.ts";
import type { ConfigVersions } from "../config/config-versions.ts";
import type { NodeLocation } from "../config/node-place.ts";
import type { NodeCli } from "../drivers/node-cli.ts";
import type { NodeDriver } from "../drivers/driver.ts";
import { hashDesiredState, createDesiredState } from "../plan/desired-state.ts";
import type { ObservedProcess, ObservedRestarts } from "../restart/restart-observation.ts";
import type { RestartBudget } from "../restart/restart-budget.ts";
import type { VerificationDependencies } from "../restart/restart-verification.ts";
import { isEarly, type UpgradeRecord } from "../state/upgrade-record.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { ReleaseCommits } from "#node/versions.ts";
import type { SidecarSettings } from "../../settings.ts";
import { runUpgrade } from "../../upgrade/run-upgrade.ts";
import type { UpgradeRequest } from "./check-release.ts";
import type { UpgradeCheck } from "./check-upgrade.ts";
import { explainBlocked, isRecordStored, keepRecord, keepRunningConfig } from "./keep-record.ts";
import { hasPower, type PowerDriver, type PortHolders } from "./node-power.ts";
import type { NodeRpc } from "../../upgrade/node-rpc.ts";
import { formatUpgradeSubject, formatUpgrade, type ObservedUpgrade } from "./upgrade-observation.ts";
import { upgradeRoute } from "./upgrade-route.ts";
import { createUpgradeSteps, type UpgradeStepsDependencies } from "./upgrade-steps.ts";
import { waitForStop } from "./wait-for-stop.ts";

/** Observations that an upgrade records for the iterations. */
export type ApplyUpgradeSeen = Readonly<{
  upgrade: ObservedUpgrade;
  config: ObservedConfig;
  restarts: ObservedRestarts;
  process: ObservedProcess;
}>;

export type ApplyUpgradeDependencies = Pick<VerificationDependencies, "clock" | "lastPush"> &
  Readonly<{
    settings: SidecarSettings;
    state: UpkeepState;
    versions: ConfigVersions;
    place: NodeLocation;
    driver: NodeDriver | undefined;
    nodeCli: NodeCli | undefined;
    rpc: NodeRpc;
    commits: () => ReleaseCommits;
    holders: PortHolders;
    health: Readonly<{ look: VerificationDependencies["look"] }>;
    observer: Readonly<{ look: (signal: AbortSignal) => Promise<void> }>;
    /** Rechecks an upgrade after the data has been copied. */
    check: (request: UpgradeRequest) => Promise<UpgradeCheck>;
    budget: RestartBudget;
    events: EventLog;
    metrics: Readonly<Record<"upgraded", (end: NonNullable<UpgradeRecord["end"]>) => void>>;
    finishes: ServiceContext["finishes"];
    wake: () => void;
    signal: AbortSignal;
    log: Logger;
  }>;

/**
 * Starts an approved upgrade, or continues one. It continues an upgrade that an earlier sidecar left unfinished, or one that was stranded
 * and rolls back again because its pause was lifted. The upgrade runs in parallel with later iterations, which treat it as a running
 * restart and change nothing until it ends.
 */
export function applyUpgrade(
  authority: Authority,
  seen: ApplyUpgradeSeen,
  dependencies: ApplyUpgradeDependencies,
): void {
  const { state, log, wake, finishes, settings, signal } = dependencies;
  const { restarts, process, upgrade } = seen;
  const remembered = state.upgrade.get();
  if (remembered === undefined || upgrade.now().preCopying !== undefined) return;
  const isBefore = isEarly(remembered.stage);
  if (!isBefore && restarts.now().running !== undefined) return;
  const { driver } = dependencies;
  const blocked = remembered.end === undefined ? explainBlocked(remembered, authority, dependencies) : undefined;
  // Lifting a pause may have changed the record.
  upgrade.note({ record: remembered, blocked });
  if (remembered.end !== undefined || blocked !== undefined || !hasPower(driver)) return;
  const record = { ...remembered, waitsForBudget: undefined };
  const isResumed = upgrade.now().agreedMs !== record.beganMs;
  const withdrawing = new AbortController();
  const mayEnd = AbortSignal.any([signal, withdrawing.signal]);
  const running = advanceUpgrade(record, { isResumed, driver }, seen, { ...dependencies, signal: mayEnd })
    .catch((error: unknown) => log.error({ event: "upgrade-failed", err: error }, "the upgrade of the node failed"))
    .finally(() => {
      // Stopping the node was approved in this process, regardless of which sidecar started the upgrade.
      const agreedMs = isBefore && state.upgrade.get()?.stage === "stopping" ? record.beganMs : undefined;
      upgrade.note({ agreedMs, preCopying: undefined });
      if (!isBefore) {
        process.note({ unwell: undefined, silence: undefined });
        restarts.note({ running: undefined, stage: undefined });
      }
      wake();
    });
  if (isBefore) upgrade.note({ preCopying: { done: running, end: () => withdrawing.abort() } });
  else restarts.note({ running, stage: formatUpgrade(record) });
  // The upgrade's stop and start commands aren't interrupted; a copy is aborted at once.
  finishes({ what: "the upgrade's step", done: running, withinMs: 2 * settings.restart.timeoutMs });
}

async function advanceUpgrade(
  record: UpgradeRecord,
  { isResumed, driver }: Readonly<{ isResumed: boolean; driver: PowerDriver }>,
  seen: ApplyUpgradeSeen,
  dependencies: ApplyUpgradeDependencies,
): Promise<void> {
  const { state, events, log, wake, clock, signal } = dependencies;
  let logged: string | undefined;
  const remember = (now: UpgradeRecord) => {
    keepRecord(now, dependencies);
    seen.upgrade.note({ record: now });
    if (!isEarly(now.stage)) seen.restarts.note({ stage: formatUpgrade(now) });
    const attempt = `${now.stage} ${now.attempts}`;
    if (now.end === undefined && attempt !== logged)
      log.info({ event: "upgrade-stage", stage: now.stage, from: now.from, to: now.to }, formatUpgrade(now));
    logged = attempt;
    wake();
  };
  const noteBlocked = (blocked: string | undefined) => {
    if (blocked === seen.upgrade.now().blocked) return;
    seen.upgrade.note({ blocked });
    if (blocked !== undefined) log.error({ event: "upgrade-blocked", stage: state.upgrade.get()?.stage }, blocked);
  };
  const isBefore = isEarly(record.stage);
  const comes = record.preCopy !== undefined && !isBefore ? "comes to the node" : "begins";
  const begins = isResumed ? "goes on" : comes;
  const by = record.restoredFrom === undefined ? "gatehouse upgrade" : "gatehouse restore";
  const attempt = { by, outcome: "unknown", before: { version: record.from } } as const;
  if (record.stage !== "giving-up")
    events.add("upgrade", `${formatUpgradeSubject(record)} ${begins}.`, undefined, attempt);
  const steps = createUpgradeSteps(createStepsDependencies(driver, seen, dependencies));
  const { record: ended } = await runUpgrade(
    record,
    { isResumed },
    {
      route: upgradeRoute,
      steps,
      endsAt: (stage) => isBefore && !isEarly(stage),
      remember: async (now) => {
        finishOrRemember(now, remember, seen, dependencies);
        return now.end !== undefined || isRecordStored({ ...dependencies, store: state.store, blocked: noteBlocked });
      },
      clock,
      signal,
    },
  );
  if (ended.end !== undefined && !isBefore) await keepRunningConfig(ended, dependencies);
}

/** Writes an upgrade's outcome together with its pause: a kill between two writes would leave a failed node without a pause. */
function finishOrRemember(
  now: UpgradeRecord,
  remember: (now: UpgradeRecord) => void,
  seen: ApplyUpgradeSeen,
  { state, settings, events, clock, metrics, log }: ApplyUpgradeDependencies,
): void {
  const { end } = now;
  if (end === undefined) {
    const isFirst = now.failure !== undefined && state.upgrade.get()?.failure === undefined;
    remember(now);
    if (isFirst && now.failure !== undefined) {
      const sides = { before: { version: now.from }, after: { stage: now.stage } };
      const then = isEarly(now.stage) ? "does not begin" : "failed, and goes back";
      events.fail("upgrade", `${formatUpgradeSubject(now)} ${then}.`, now.failure, { by: "sidecar", ...sides });
    }
    return;
  }
  const message = formatUpgrade(now);
  state.atomically(() => {
    remember(now);
    events.add("upgrade", message, undefined, {
      by: "sidecar",
      outcome: end === "committed" ? "success" : "failure",
      before: { version: now.from },
      after: end === "committed" ? { version: now.to, restoredFrom: now.restoredFrom } : { end },
    });
    // The evidence about the old data doesn't apply to the new data.
    if (end === "committed") return state.dataEvidence.set(undefined);
    // An upgrade that was given up didn't touch the node.
    if (end === "given-up") return;
    const reason = now.restoredFrom === undefined ? `the upgrade to ${now.to}` : "the restore of its data";
    const failed = end === "stranded" ? { failed: { reason, isDown: true } } : {};
    // No release is stored: a response from another version is no reason to act again without the operator. Uses the current desired state:
    // if it has changed, the initial one would lift the pause at once, and the upgrade would be retried forever.
    const hash = hashDesiredState(createDesiredState(settings, ""));
    state.hold.set({ desired: { hash }, message, sinceMs: clock.wallMs(), ...failed });
    seen.restarts.note({ hold: { message } });
  });
  metrics.upgraded(end);
  if (end === "committed") log.info({ event: "upgrade-verified", from: now.from, to: now.to }, message);
  else if (now.isWithdrawn === true) log.info({ event: "upgrade-canceled", from: now.from, to: now.to }, message);
  else log.error({ event: "upgrade-not-verified", from: now.from, to: now.to, end }, message);
}

function createStepsDependencies(
  driver: UpgradeStepsDependencies["driver"],
  seen: ApplyUpgradeSeen,
  dependencies: ApplyUpgradeDependencies,
): UpgradeStepsDependencies {
  const { settings, place, health, wake, state, observer, log, signal } = dependencies;
  return {
    ...dependencies,
    driver,
    boot: bootTime,
    waitForStop: (record) => waitForStop(record, seen, dependencies),
    look: health.look,
    fileDeadline: place.fileDeadline,
    lock: place.lock,
    limitBytes: settings.upkeep.configLimitBytes,
    plan: (observed) => planWithEarlierValues(observed, settings, place.layout().pathsDirectory, dependencies),
    waitsFor: (stage) => {
      seen.restarts.note({ stage });
      wake();
    },
    observeVersion: () =>
      observer
        .look(signal)
        .catch((error: unknown) =>
          log.error({ event: "node-cli-check-failed", err: error }, "running node_cli after an upgrade failed"),
        ),
    readConfig: async () => {
      const reading = await place.read();
      if (!reading.ok) throw new Error(reading.problem.message);
      seen.config.note({ document: reading.document });
      state.atomically(() => {
        state.nodeHas.set(deriveMeaning(reading.document));
        state.startedWith.set(undefined);
        state.retry.set(undefined);
      });
    },
  };
}
