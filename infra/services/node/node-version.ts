import { devnetVersion, parseImageVersion } from "#node/versions.ts";
import type { StackConfig } from "../../config/config-schema.ts";
import { describeProblem, type ConfigProblem } from "../../config/config-problem.ts";

/**
 * Chooses the version that the first node.conf is made for, before the node has answered: the stack's own word, else the tag of a real node's image,
 * else the devnet's. `findNodeVersionProblems` refuses a real node without either.
 */
export function chooseNodeVersion({ nodeVersion, nodeImage }: StackConfig): string {
  return nodeVersion ?? (nodeImage === undefined ? undefined : parseImageVersion(nodeImage)?.text) ?? devnetVersion;
}

/** Finds a real node without a version, which is never guessed: under the names of another version, the node would ignore its metrics' keys without a word. */
export function findNodeVersionProblems({ nodeVersion, nodeImage }: StackConfig): readonly ConfigProblem[] {
  if (nodeVersion !== undefined || nodeImage === undefined || parseImageVersion(nodeImage) !== undefined) return [];
  const key = "nodeVersion";
  const wrong =
    "missing; expected the version of the node's release, because the tag of nodeImage does not name it and the first node.conf is made before the node can be queried.";
  return [describeProblem(key, { wrong, remedy: ["Set it", { kind: "set", key }, ", e.g. 0.16.2."] })];
}
