import { devnetVersion, parseImageVersion } from "#node/versions.ts";
import type { StackConfig } from "../../config/config-schema.ts";
import { describeProblem, setKey, type ConfigProblem } from "../../config/config-problem.ts";

/**
 * Chooses the version for the initial node.conf, before the node has responded: the configured version, otherwise the tag of a real node's
 * image, otherwise the devnet's version. `findNodeVersionProblems` rejects a real node that has neither.
 */
export function chooseNodeVersion({ nodeVersion, nodeImage }: StackConfig): string {
  return nodeVersion ?? (nodeImage === undefined ? undefined : parseImageVersion(nodeImage)?.text) ?? devnetVersion;
}

/**
 * Reports a real node without a version. The version is never guessed: with the key names of another version, the node would silently
 * ignore its metrics keys.
 */
export function findNodeVersionProblems({ nodeVersion, nodeImage }: StackConfig): readonly ConfigProblem[] {
  if (nodeVersion !== undefined || nodeImage === undefined || parseImageVersion(nodeImage) !== undefined) return [];
  const key = "nodeVersion";
  const wrong =
    "missing; expected the version of the node's release, because the tag of nodeImage does not contain it, and the first node.conf is created before the node can be queried.";
  return [describeProblem(key, wrong, "Set it", setKey(key), ", e.g. 0.16.2.")];
}
