import { isJsonObject, type JsonObject } from "./document.ts";
import { monitorFields, type Naming } from "./monitor-keys.ts";
import type { MonitorValue, WantedMonitor } from "./monitor-values.ts";

/** One change of `chain.monitor_config`, and why. */
export type ConfigChange = Readonly<{ reason: string }> &
  Readonly<
    | { kind: "create"; value: JsonObject }
    | { kind: "set"; key: string; value: MonitorValue; from: unknown }
    | { kind: "insert"; key: string; value: MonitorValue }
    | { kind: "rename"; key: string; to: string }
    | { kind: "remove"; key: string }
  >;

/** The changes that lead from what stands under `chain.monitor_config` to what is wanted there. None when it is right. */
export function configChanges(current: unknown, wanted: WantedMonitor, naming: Naming): readonly ConfigChange[] {
  if (!isJsonObject(current)) return created(current, wanted, naming);
  return monitorFields.flatMap((field): ConfigChange[] => {
    const own = naming.own[field];
    const other = naming.other[field];
    const hasOwn = Object.hasOwn(current, own);
    const hasOther = Object.hasOwn(current, other);
    const changes: ConfigChange[] = [];
    if (hasOther && hasOwn) changes.push({ kind: "remove", key: other, reason: `${naming.rule}, and ${own} is there` });
    if (hasOther && !hasOwn) changes.push({ kind: "rename", key: other, to: own, reason: naming.rule });
    const target = wanted[field];
    if (target === undefined) return changes;
    const from = hasOwn ? current[own] : current[other];
    if (!hasOwn && !hasOther) changes.push({ kind: "insert", key: own, ...target });
    else if (from !== target.value) changes.push({ kind: "set", key: own, from, ...target });
    return changes;
  });
}

function created(current: unknown, wanted: WantedMonitor, naming: Naming): readonly ConfigChange[] {
  const entries = monitorFields.flatMap((field) => {
    const target = wanted[field];
    return target === undefined ? [] : [[naming.own[field], target.value] as const];
  });
  if (wanted.enabled === undefined || entries.length === 0) return [];
  const why = current === undefined ? "the file has no chain.monitor_config" : "chain.monitor_config is no object";
  return [{ kind: "create", value: Object.fromEntries(entries), reason: `${why}; ${wanted.enabled.reason}` }];
}

/** The value that a `monitor_config` has after the changes; what an edit of the text is checked against. */
export function changedValue(current: unknown, changes: readonly ConfigChange[]): JsonObject {
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
