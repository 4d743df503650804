import { isDeploymentSecret } from "../config/deployment-secret.ts";

/** A service's settings as the deployment sets them: the nested keys of the service's settings file, secrets included. */
export type SettingsTree = Readonly<{ [key: string]: unknown }>;

/** Whether a value is an inner part of a tree: an object that is neither a list nor a secret. */
function isBranch(value: unknown): value is SettingsTree {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isDeploymentSecret(value);
}

/** Lays `over` on `base`, key by key; where both have a value, `over` wins. */
export function mergeTrees(base: SettingsTree, over: SettingsTree): SettingsTree {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isBranch(below) && isBranch(value) ? mergeTrees(below, value) : value;
  }
  return merged;
}

/** What stands at a path, `undefined` when nothing does. */
export function valueAt(tree: SettingsTree, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isBranch(value) ? value[key] : undefined), tree);
}

/** The paths of everything in a tree that is no branch, or a branch that `stop` names. */
export function leafPaths(
  tree: SettingsTree,
  stop: (path: readonly string[]) => boolean,
  at: readonly string[] = [],
): readonly (readonly string[])[] {
  return Object.entries(tree).flatMap(([key, value]) => {
    const path = [...at, key];
    if (value === undefined) return [];
    return isBranch(value) && !stop(path) ? leafPaths(value, stop, path) : [path];
  });
}
