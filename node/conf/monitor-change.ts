import { isJsonObject, type JsonObject } from "./document.ts";
import { monitorFields, listOtherNames, type Naming } from "./monitor-config.ts";
import { formatValue } from "./secret-shapes.ts";
import type { MonitorValue, ResolvedMonitor } from "./monitor-values.ts";

export type ConfigChange = Readonly<{ reason: string }> &
  Readonly<
    | { kind: "create"; value: JsonObject }
    | { kind: "set"; key: string; value: MonitorValue; from: unknown }
    | { kind: "insert"; key: string; value: MonitorValue }
    | { kind: "rename"; key: string; to: string }
    | { kind: "remove"; key: string }
  >;

/** Returns the changes that turn the current `chain.monitor_config` into the desired one; empty if it already matches. */
export function findConfigChanges(current: unknown, wanted: ResolvedMonitor, naming: Naming): readonly ConfigChange[] {
  if (!isJsonObject(current)) return buildCreation(current, wanted, naming);
  const ofFields = monitorFields.flatMap((field): ConfigChange[] => {
    const own = naming.own[field];
    const hasOwn = Object.hasOwn(current, own);
    const others = listOtherNames(naming, field).filter((name) => Object.hasOwn(current, name));
    const renamed = hasOwn ? undefined : others[0];
    const left = others.filter((name) => name !== renamed);
    const changes: ConfigChange[] = [];
    if (renamed !== undefined) changes.push({ kind: "rename", key: renamed, to: own, reason: naming.rule });
    for (const key of left) changes.push({ kind: "remove", key, reason: `${naming.rule}, and ${own} exists` });
    const target = wanted[field];
    if (target === undefined) return changes;
    const from = current[renamed ?? own];
    if (!hasOwn && renamed === undefined) changes.push({ kind: "insert", key: own, ...target });
    else if (from !== target.value) changes.push({ kind: "set", key: own, from, ...target });
    return changes;
  });
  return [...ofFields, ...removeInstances(current, naming)];
}

/** Without the name, nodes with the same job overwrite each other's metrics. */
function removeInstances(
  current: JsonObject,
  { otherInstanceKeys, instanceKey, rule }: Naming,
): readonly ConfigChange[] {
  const found = otherInstanceKeys.filter((key) => Object.hasOwn(current, key));
  const why = instanceKey === undefined ? "which have no instance key" : `of which ${instanceKey} is the instance's`;
  return found.map((key) => ({
    kind: "remove",
    key,
    reason: `${rule}, ${why}; it was ${formatValue(current[key])}: give each node of the job its own monitor.jobName`,
  }));
}

function buildCreation(current: unknown, wanted: ResolvedMonitor, naming: Naming): readonly ConfigChange[] {
  const entries = monitorFields.flatMap((field) => {
    const target = wanted[field];
    return target === undefined ? [] : [[naming.own[field], target.value] as const];
  });
  if (wanted.enabled === undefined || entries.length === 0) return [];
  const why = current === undefined ? "the file has no chain.monitor_config" : "chain.monitor_config is not an object";
  return [{ kind: "create", value: Object.fromEntries(entries), reason: `${why}; ${wanted.enabled.reason}` }];
}

/** Returns a `monitor_config` value with the changes applied, for verifying the text edit. */
export function applyChanges(current: unknown, changes: readonly ConfigChange[]): JsonObject {
  const next: Record<string, unknown> = isJsonObject(current) ? { ...current } : {};
  for (const change of changes) {
    switch (change.kind) {
      case "create":
        Object.assign(next, change.value);
        break;
      case "set":
      case "insert":
        next[change.key] = change.value;
        break;
      case "rename":
        next[change.to] = next[change.key];
        delete next[change.key];
        break;
      case "remove":
        delete next[change.key];
        break;
    }
  }
  return next;
}

export function describeChange(change: ConfigChange): string {
  return `${formatChange(change)} (${change.reason})`;
}

export function formatChange(change: ConfigChange): string {
  switch (change.kind) {
    case "create":
      return `chain.monitor_config created with ${Object.keys(change.value).join(", ")}`;
    case "insert":
      return `${change.key} added as ${JSON.stringify(change.value)}`;
    case "set":
      return `${change.key} set to ${JSON.stringify(change.value)}, was ${formatValue(change.from)}`;
    case "rename":
      return `${change.key} renamed to ${change.to}`;
    case "remove":
      return `${change.key} removed`;
  }
}
