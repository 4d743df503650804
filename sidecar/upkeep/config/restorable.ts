import { parseConfig, type ConfigDocument } from "#node/conf/document.ts";
import { hasSameMeaning } from "#node/conf/meaning.ts";
import {
  specifiesOwner,
  findOwnershipDifference,
  findValueDifference,
  readNodeValues,
  type NodeValues,
} from "#node/conf/node-values.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";

/** Verdict on a stored copy: the document that may replace node.conf, or the reason why it may not. */
export type Restorable = Readonly<{ ok: true; document: ConfigDocument } | { ok: false; why: string }>;

/** The configuration that a copy would replace. */
export type RestoreOver = Readonly<{
  /** Current node.conf, if readable. */
  standing?: ConfigDocument | undefined;
  /** Meaning of the configuration with which this node is known to have run until now. */
  ran?: string | undefined;
}>;

/**
 * Judges a stored copy: a node that starts with another node's copy would write into that node's chain data. A copy is restored only if it
 * has the data, keys and ports from the node's last run. If this node is not known to have run with this very copy until now, two more
 * conditions apply: the copy must specify data or keys, and the current node.conf must specify the same ones.
 */
export function checkRestorable(
  copy: Uint8Array,
  pathsDirectory: string,
  { standing, ran }: RestoreOver,
  { nodeValues }: Readonly<{ nodeValues: Pick<UpkeepState["nodeValues"], "get"> }>,
): Restorable {
  const parsed = parseConfig(copy);
  if (!parsed.ok) return { ok: false, why: "the backup itself is invalid" };
  const values = readNodeValues(parsed.document, pathsDirectory);
  const lastRan = nodeValues.get();
  const hasRun = ran !== undefined && hasSameMeaning(ran, parsed.document, undefined);
  if (lastRan === undefined) return { ok: false, why: "the node's active configuration is not known yet" };
  const another =
    findValueDifference(values, lastRan) ?? (hasRun ? undefined : describeMismatch(values, pathsDirectory, standing));
  return another === undefined ? { ok: true, document: parsed.document } : { ok: false, why: another };
}

/** Describes why a copy may be another node's, if this node isn't known to have run with it; undefined if nothing indicates that. */
function describeMismatch(
  copy: NodeValues,
  pathsDirectory: string,
  standing: ConfigDocument | undefined,
): string | undefined {
  if (!specifiesOwner(copy)) return "it has neither a data path nor keys, so it can't be matched to this node";
  return standing === undefined ? undefined : findOwnershipDifference(copy, readNodeValues(standing, pathsDirectory));
}
