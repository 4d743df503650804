import type { ServiceContext } from "#daemon/service.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { EventLog } from "#status/event-log.ts";
import { deriveMeaning } from "#node/conf/meaning.ts";
import type { Authority } from "../adoption/authority.ts";
import { planWithEarlierValues } from "../config/healthy-config.ts";
import type { ObservedConfig } from "../config/config-observation.ts";
import type { ConfigVersions } from "../config/config-versions.ts";
import type { NodeLocation } from "../config/node-location.ts";
import type { NodeCli } from "../drivers/node-cli.ts";
import type { NodeDriver } from "../drivers/driver.ts";
import { hashDesiredState, createDesiredState } from "../plan/desired-state.ts";
import type { ObservedProcess, ObservedRestarts } from "../restart/restart-observation.ts";
import type { RestartBudget } from "../restart/restart-budget.ts";
import type { VerificationDependencies } from "../restart/restart-verification.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { ReleaseCommits } from "#node/versions.ts";
import type { SidecarSettings } from "../../settings.ts";
import { runUpgrade } from "../../upgrade/run-upgrade.ts";
import { explainBlocked, isRecordStored, keepRecord, keepRunningConfig } from "./keep-record.ts";
import { hasPower, type PowerDriver, type PortHolders } from "./node-power.ts";
import type { NodeRpc } from "../../upgrade/node-rpc.ts";
import { formatUpgrade, type ObservedUpgrade } from "./upgrade-observation.ts";
import { upgradeRoute } from "./upgrade-route.ts";
import { createUpgradeSteps, type UpgradeStepsDependencies } from "./upgrade-steps.ts";

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
    health: Readonly<{ check: VerificationDependencies["check"] }>;
    observer: Readonly<{ check: (signal: AbortSignal) => Promise<void> }>;
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
  const { state, log, wake, finishes, settings } = dependencies;
  const { restarts, process, upgrade } = seen;
  const remembered = state.upgrade.get();
  if (remembered === undefined || restarts.now().running !== undefined) return;
  const { driver } = dependencies;
  const blocked = remembered.end === undefined ? explainBlocked(authority, dependencies) : undefined;
  // Lifting a pause may have changed the record.
  upgrade.note({ record: remembered, blocked });
  if (remembered.end !== undefined || blocked !== undefined || !hasPower(driver)) return;
  const isResumed = upgrade.now().agreedMs !== remembered.beganMs;
  const running = advanceUpgrade(remembered, { isResumed, driver }, seen, dependencies)
    .catch((error: unknown) => log.error({ event: "upgrade-failed", err: error }, "the upgrade of the node failed"))
    .finally(() => {
      upgrade.note({ agreedMs: undefined });
      process.note({ unhealthy: undefined, unresponsive: undefined });
      restarts.note({ running: undefined, stage: undefined });
      wake();
    });
  restarts.note({ running, stage: formatUpgrade(remembered) });
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
    seen.restarts.note({ stage: formatUpgrade(now) });
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
  const begins = isResumed ? "continues" : "starts";
  const attempt = { by: "gatehouse upgrade", outcome: "unknown", before: { version: record.from } } as const;
  events.add("upgrade", `The upgrade from ${record.from} to ${record.to} ${begins}.`, undefined, attempt);
  const steps = createUpgradeSteps(createStepsDependencies(driver, seen, dependencies));
  const { record: ended } = await runUpgrade(
    record,
    { isResumed },
    {
      route: upgradeRoute,
      steps,
      remember: async (now) => {
        finishOrRemember(now, remember, seen, dependencies);
        return now.end !== undefined || isRecordStored({ ...dependencies, store: state.store, blocked: noteBlocked });
      },
      clock,
      signal,
    },
  );
  if (ended.end !== undefined) await keepRunningConfig(ended, dependencies);
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
      const message = `The upgrade from ${now.from} to ${now.to} failed and is rolled back.`;
      events.fail("upgrade", message, now.failure, { by: "sidecar", ...sides });
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
      after: end === "committed" ? { version: now.to } : { end },
    });
    // The evidence about the old data doesn't apply to the new data.
    if (end === "committed") return state.dataEvidence.set(undefined);
    const failed = end === "stranded" ? { failed: { reason: `the upgrade to ${now.to}`, isDown: true } } : {};
    // No release is stored: a response from another version is no reason to act again without the operator. Uses the current desired state:
    // if it has changed, the initial one would lift the pause at once, and the upgrade would be retried forever.
    const hash = hashDesiredState(createDesiredState(settings, ""));
    state.hold.set({ desired: { hash }, message, sinceMs: clock.wallMs(), ...failed });
    seen.restarts.note({ hold: { message } });
  });
  metrics.upgraded(end);
  if (end === "committed") log.info({ event: "upgrade-verified", from: now.from, to: now.to }, message);
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
    check: health.check,
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
        .check(signal)
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
