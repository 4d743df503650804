import { hostname } from "node:os";
import type { ObservedAdoption } from "../adoption/adoption-observation.ts";
import { isUnusableByNode } from "#node/conf/problem.ts";
import { requestRestart } from "../restart/requested-restart.ts";
import type { ObservedRestarts } from "../restart/restart-observation.ts";
import { endHold, type HoldDependencies } from "../restart/hold.ts";
import { formatIdentity, identifyNode } from "../state/node-identity.ts";
import type { ObservedConfig } from "../config/config-observation.ts";
import type { CorrectionRate } from "../config/correction-rate.ts";
import { forgetRejection } from "../config/refused-edit.ts";
import type { NodeDriver } from "../drivers/driver.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import { beginUpgrade } from "../upgrade/begin-upgrade.ts";
import { checkUpgrade, type CheckUpgradeDependencies } from "../upgrade/check-upgrade.ts";
import type { UpgradeRequest } from "../upgrade/requested-upgrade.ts";
import { formatUpgrade, type ObservedUpgrade } from "../upgrade/upgrade-observation.ts";
import type {
  AdoptResponse,
  ControlView,
  RestartResponse,
  ResumeResponse,
  UpgradeResponse,
} from "./control-responses.ts";

/** Requests to a running sidecar. Each change is on disk when its call returns. */
export type UpkeepControl = Readonly<{
  view: () => ControlView;
  /** Lifts a pause, retries what failed, assumes that any competing writer of node.conf has stopped, and has a rejected edit judged again. */
  resume: () => ResumeResponse;
  /** Restarts the node in the same way as the sidecar's own restarts: verified, and rolled back if the node doesn't recover. */
  restart: () => RestartResponse;
  /** Lets the sidecar act on this node if its plan still has the given digest. */
  adopt: (digest: string) => AdoptResponse;
  /** Plans an upgrade, or starts it if the plan still matches the one that was shown. */
  upgrade: (body: UpgradeRequest) => Promise<UpgradeResponse>;
}>;

/** Reconcile findings that are shown to the operator. */
type ControlSeen = Readonly<{
  adoption: ObservedAdoption;
  config: ObservedConfig;
  restarts: ObservedRestarts;
  upgrade: ObservedUpgrade;
}>;

type ControlDependencies = HoldDependencies &
  CheckUpgradeDependencies &
  Readonly<{
    state: UpkeepState;
    driver: NodeDriver | undefined;
    rate: CorrectionRate;
    /** Requests a reconcile. */
    wake: () => void;
  }>;

/** Creates the control for an upkeep. */
export function createUpkeepControl(seen: ControlSeen, dependencies: ControlDependencies): UpkeepControl {
  const { settings, state, place, rate, events, clock, authority, isRestarting, wake } = dependencies;
  const { mode } = settings.upkeep;
  const node = () => {
    const identity = state.identity.get() ?? identifyNode(settings, place.layout(), seen.config.now().document);
    return { name: settings.monitor.jobName ?? identity.host.name, words: formatIdentity(identity) };
  };
  const buildHoldView = () => {
    const hold = state.hold.get();
    return hold === undefined ? {} : { hold: { message: hold.message, sinceMs: hold.sinceMs } };
  };
  const buildView = (): ControlView => {
    const plan = seen.adoption.now().plan;
    return {
      node: node(),
      sidecar: { pid: process.pid, host: hostname(), stateDirectory: state.directory },
      mode,
      authority: authority(),
      ...buildHoldView(),
      ...(plan === undefined ? {} : { plan: plan as ControlView["plan"] }),
      ...buildUpgradeView(seen.upgrade.now().record),
    };
  };
  const resume = (): ResumeResponse => {
    const before = buildHoldView();
    const wasContested = rate.contested() || rate.repeated() || rate.undoneByStart() !== undefined;
    rate.forget();
    const asksAgain = forgetRejection(seen.config);
    if (wasContested || asksAgain) wake();
    if (before.hold === undefined) return { result: "none", wasContested, asksAgain, node: node() };
    // A rollback pauses the sidecar first, and again at its end, so lifting the pause in between would have no lasting effect.
    if (isRestarting()) return { result: "busy", ...before, node: node() };
    const next = endHold({ why: "gatehouse resume was run", byPerson: true }, dependencies);
    wake();
    return { result: "lifted", ...before, next, wasContested, asksAgain, node: node() };
  };
  const restart = (): RestartResponse => {
    const situation = {
      authority: authority(),
      isRestarting: isRestarting(),
      canRestart: dependencies.driver !== undefined,
    };
    const result = requestRestart(situation, dependencies);
    if (result !== "requested") return { result, node: node() };
    wake();
    const waitsFor = explainWait(seen, state);
    return { result, ...(waitsFor === undefined ? {} : { waitsFor }), node: node() };
  };
  const adopt = (digest: string): AdoptResponse => {
    const before = authority();
    if (before !== "waits") return { result: before === "acts" ? "already" : "observes", view: buildView() };
    if (seen.adoption.now().plan?.digest !== digest) return { result: "another", view: buildView() };
    const said = { by: "gatehouse adopt", outcome: "success", after: { planDigest: digest } } as const;
    events.add("adopt", "The sidecar may now act on this node: gatehouse adopt was run.", undefined, said);
    state.adopted.set({ by: "command", atMs: clock.wallMs() });
    wake();
    return { result: "adopted", view: buildView() };
  };
  const upgrade = async (body: UpgradeRequest) => {
    const checked = await checkUpgrade(body, dependencies);
    return { ...beginUpgrade(checked, body.digest, seen, dependencies), node: node() };
  };
  return { view: buildView, resume, restart, adopt, upgrade };
}

/** Explains what a restart requested now would have to wait for, according to the last iteration; undefined if the restart would start at once. */
function explainWait(
  { config, restarts }: Pick<ControlSeen, "config" | "restarts">,
  { store }: Pick<UpkeepState, "store">,
): string | undefined {
  const { validity } = config.now();
  if (store.failure() !== undefined) return "the sidecar can't store its state (see Reconciling)";
  if (validity?.ok === false && isUnusableByNode(validity.problem.reason))
    return "the node can't start with the current node.conf (see ConfigReconciled)";
  const { settled } = restarts.now();
  const isMissing = settled !== undefined && "reason" in settled && settled.reason === "ProgramMissing";
  return isMissing ? "a required binary is missing or can't be run (see NoRestartPending)" : undefined;
}

function buildUpgradeView(record: UpgradeRecord | undefined): Pick<ControlView, "upgrade"> {
  if (record === undefined) return {};
  const { from, to, beganMs, stage, end } = record;
  return { upgrade: { from, to, beganMs, stage, ...(end === undefined ? {} : { end }), words: formatUpgrade(record) } };
}
