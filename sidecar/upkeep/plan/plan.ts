import type { NodeVersion } from "#node/versions.ts";
import type { PruneInfo } from "#node/prune-info.ts";
import { isJsonObject, parseConfig, type ConfigDocument } from "#node/conf/document.ts";
import { matchesFingerprint } from "#node/conf/config-fingerprint.ts";
import { findConfigChanges, type ConfigChange } from "#node/conf/monitor-change.ts";
import { editConfig } from "#node/conf/edit.ts";
import { type Desired, resolveMonitorValues } from "#node/conf/monitor-values.ts";
import { monitorFields, findNaming, listOtherNames, type Naming } from "#node/conf/monitor-config.ts";

/** What is known about a node's current state. If a field is absent, nothing is planned based on it. */
export type Observed = Readonly<{
  document?: ConfigDocument | undefined;
  version?: NodeVersion | undefined;
  /** Reason why the version is too uncertain for renaming keys, and the remedy. */
  doubt?: string | undefined;
  pruneInfo?: PruneInfo | undefined;
  /** Fingerprint of the configuration that the running node has read; `unknown` if it may have read a different one. */
  nodeHas?: string | "unknown" | undefined;
}>;

export type PlanAction = Readonly<
  | { kind: "write-config"; text: string; changes: readonly ConfigChange[]; warning?: string }
  | { kind: "enable-auto-prune"; reason: string }
  | { kind: "restart"; reason: string }
>;

type PlanProblem = Readonly<{
  reason: "VersionUnknown" | "PushAddressUnknown" | "EditRejected" | "CannotDisable";
  message: string;
}>;

/** Both lists are empty if the node already matches the desired state. */
export type Plan = Readonly<{ actions: readonly PlanAction[]; problems: readonly PlanProblem[] }>;

/** Plans the actions. Pure and total: the same arguments produce the same plan, and once a plan has been executed, nothing is left to do. */
export function plan(observed: Observed, desired: Desired): Plan {
  const problems: PlanProblem[] = [];
  const write = decideWrite(observed, desired, problems);
  const prune = decidePrune(observed, desired, problems);
  // The node must not be started with a file whose keys can't be checked.
  const isJudged = problems.every(({ reason }) => reason !== "VersionUnknown");
  const restart = isJudged ? decideRestartAction(observed, write) : undefined;
  return { actions: [write, prune, restart].filter((action) => action !== undefined), problems };
}

type WriteConfig = Extract<PlanAction, { kind: "write-config" }>;

export function findWrite({ actions }: Plan): WriteConfig | undefined {
  return actions.find((action) => action.kind === "write-config");
}

function decideWrite(observed: Observed, desired: Desired, problems: PlanProblem[]): WriteConfig | undefined {
  const { document, version, doubt } = observed;
  if (document === undefined) return undefined;
  if (version === undefined) {
    const message =
      "the node's version is unknown, so the key names of monitor_config are unknown too; set node.version (GATEHOUSE_SIDECAR_NODE_VERSION).";
    problems.push({ reason: "VersionUnknown", message });
    return undefined;
  }
  const naming = findNaming(version);
  const monitorConfig = document.chain["monitor_config"];
  const desiredMonitor = resolveMonitorValues(
    isJsonObject(monitorConfig) ? monitorConfig : undefined,
    naming,
    desired.monitor,
  );
  if (desired.monitor.enabled && desiredMonitor.pushAddress === undefined) {
    const message =
      "monitor.enabled is true, but no Pushgateway is configured; set monitor.pushAddress (GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS), or monitor.enabled to false (GATEHOUSE_SIDECAR_MONITOR_ENABLED).";
    problems.push({ reason: "PushAddressUnknown", message });
  }
  const changes = findConfigChanges(monitorConfig, desiredMonitor, naming);
  if (changes.length === 0) return undefined;
  if (doubt !== undefined && !isNamedFor(naming, monitorConfig)) {
    const message = `the key names of monitor_config are uncertain, so they are not changed: ${doubt}.`;
    problems.push({ reason: "VersionUnknown", message });
    return undefined;
  }
  const edit = editConfig(document, changes);
  if (!edit.ok) {
    problems.push({ reason: "EditRejected", message: `node.conf ${edit.message}` });
    return undefined;
  }
  return { kind: "write-config", text: edit.text, changes };
}

/** Whether a `monitor_config` uses only names that the naming reads. */
function isNamedFor(naming: Naming, monitor: unknown): boolean {
  if (!isJsonObject(monitor)) return false;
  const has = (key: string) => Object.hasOwn(monitor, key);
  const otherNames = [...monitorFields.flatMap((field) => listOtherNames(naming, field)), ...naming.otherInstanceKeys];
  return Object.values(naming.own).some(has) && !otherNames.some(has);
}

function decidePrune(observed: Observed, desired: Desired, problems: PlanProblem[]): PlanAction | undefined {
  if (observed.pruneInfo === undefined) return undefined;
  if (desired.prune.enabled && !observed.pruneInfo.autoPrune) {
    return {
      kind: "enable-auto-prune",
      reason: "prune.enabled is true, but enable_auto_prune is 0",
    };
  }
  if (!desired.prune.enabled && observed.pruneInfo.autoPrune) {
    const message =
      "prune.enabled is false, but node_cli has no command to disable auto-pruning; set prune.enabled to true.";
    problems.push({ reason: "CannotDisable", message });
  }
  return undefined;
}

function decideRestartAction(observed: Observed, write: WriteConfig | undefined): PlanAction | undefined {
  const { document, nodeHas, version } = observed;
  if (document === undefined || nodeHas === undefined) return undefined;
  const next = write === undefined ? document : parseDocument(write.text);
  if (next === undefined || matchesFingerprint(nodeHas, next, version)) return undefined;
  const why =
    nodeHas === "unknown"
      ? "the node may have loaded a different node.conf"
      : "node.conf differs from what the node loaded";
  return { kind: "restart", reason: `${why}, and the node reads it only at startup` };
}

function parseDocument(text: string): ConfigDocument | undefined {
  const parsed = parseConfig(Buffer.from(text));
  return parsed.ok ? parsed.document : undefined;
}
