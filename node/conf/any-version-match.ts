import { isJsonObject, type ConfigDocument } from "./document.ts";
import { findConfigChanges } from "./monitor-change.ts";
import { type DesiredMonitor, resolveMonitorValues } from "./monitor-values.ts";
import { listKeySets } from "./monitor-config.ts";

const rule = "the version is unknown";

/** A node ignores other versions' names, and only it can tell which it reads: if any version matches, drift is not certain. */
export function matchesSomeVersion(document: ConfigDocument, desired: DesiredMonitor): boolean {
  const current = document.chain["monitor_config"];
  const sets = listKeySets();
  return sets.some(({ name, keys }) => {
    const others = sets.filter((other) => other.name !== name).map((other) => other.keys);
    const naming = { own: keys, others, otherInstanceKeys: [], rule };
    const wanted = resolveMonitorValues(isJsonObject(current) ? current : undefined, naming, desired);
    if (desired.enabled && wanted.pushAddress === undefined) return false;
    return findConfigChanges(current, wanted, naming).every(({ kind }) => kind === "remove");
  });
}
