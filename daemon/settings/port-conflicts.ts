import type { SettingsLeaf } from "./leaf.ts";
import type { NameOrigin, SettingsProblem } from "./problem.ts";
import { getValueAt } from "./value.ts";

/** Finds listeners of one service with the same host and port. Each listener is a section with `host` and `port`. */
export function findPortConflicts(
  leaves: readonly SettingsLeaf[],
  settings: object,
  origin: NameOrigin,
): readonly SettingsProblem[] {
  const listeners = leaves.flatMap((leaf) => {
    const section = leaf.path.slice(0, -1);
    const [host, port] = [getValueAt(settings, [...section, "host"]), getValueAt(settings, leaf.path)];
    if (leaf.path.at(-1) !== "port" || typeof host !== "string" || typeof port !== "number") return [];
    return [{ leaf, host, port }];
  });
  return listeners.flatMap((listener, index) => {
    const rival = listeners.slice(0, index).find((other) => isSameListener(other, listener));
    if (rival === undefined) return [];
    const isDefault = origin(listener.leaf) === "default";
    const [changed, other] = isDefault ? [rival.leaf, listener.leaf] : [listener.leaf, rival.leaf];
    return [
      { name: origin(changed), message: `found ${listener.port}, which ${other.env} also uses; change one of them.` },
    ];
  });
}

/** Checks whether two listeners can't both listen: same port, and an address in common. Port 0 means any free port. */
export function isSameListener(a: Listener, b: Listener): boolean {
  if (a.port !== b.port || a.port === 0) return false;
  const isWildcard = [a, b].some(({ host }) => host === "0.0.0.0" || host === "::");
  return isWildcard || a.host === b.host;
}

type Listener = Readonly<{ host: string; port: number }>;
