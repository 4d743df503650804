import { isJsonObject, type ConfigDocument } from "./document.ts";
import { configChanges } from "./monitor-change.ts";
import type { DesiredMonitor } from "./desired.ts";
import { pamirKeys, storageKeys, type Naming } from "./monitor-keys.ts";
import { wantedMonitor } from "./monitor-values.ts";

const rule = "the version is not known";

/** The two namings of `monitor_config`, whichever the version has. */
const namings: readonly Naming[] = [
  { own: storageKeys, other: pamirKeys, rule },
  { own: pamirKeys, other: storageKeys, rule },
];

/**
 * Whether node.conf is as desired for a node of some version, so that no drift is certain: at most it has the names of another version,
 * which a node ignores, and which only the node itself can tell apart. Pure.
 */
export function isRightForSomeVersion(document: ConfigDocument, desired: DesiredMonitor): boolean {
  const current = document.chain["monitor_config"];
  return namings.some((naming) => {
    const wanted = wantedMonitor(isJsonObject(current) ? current : undefined, naming, desired);
    if (desired.enabled && wanted.pushAddress === undefined) return false;
    return configChanges(current, wanted, naming).every(({ kind }) => kind === "remove");
  });
}
