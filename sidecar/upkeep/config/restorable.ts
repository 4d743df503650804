import { parseConfig, type ConfigDocument } from "#node/conf/document.ts";
import { hasSameMeaning } from "#node/conf/meaning.ts";
import {
  namesOwner,
  findOwnershipDifference,
  findValueDifference,
  readNodeValues,
  type NodeValues,
} from "#node/conf/node-values.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";

/** Judgement of a remembered copy: the document that may stand in for node.conf, or why it may not. */
export type Restorable = Readonly<{ ok: true; document: ConfigDocument } | { ok: false; why: string }>;

/** Configuration that a copy would replace. */
export type RestoreOver = Readonly<{
  /** The node.conf that stands there, if it can be read. */
  standing?: ConfigDocument | undefined;
  /** Meaning of the configuration that this node is known to have run with until now. */
  ran?: string | undefined;
}>;

/**
 * Judges a remembered copy: a node that starts with another's would write into another's chain data. Only one with the data, keys and ports
 * of the node as it last ran is restored. Unless the node is known to have run with this very copy until now, the copy has to name data or
 * keys, and those of the node.conf that stands there have to be the same.
 */
export function judgeRestorable(
  copy: Uint8Array,
  pathsDirectory: string,
  { standing, ran }: RestoreOver,
  { nodeValues }: Readonly<{ nodeValues: Pick<UpkeepState["nodeValues"], "get"> }>,
): Restorable {
  const parsed = parseConfig(copy);
  if (!parsed.ok) return { ok: false, why: "it can't be used itself" };
  const values = readNodeValues(parsed.document, pathsDirectory);
  const lastRan = nodeValues.get();
  const hasRun = ran !== undefined && hasSameMeaning(ran, parsed.document, undefined);
  if (lastRan === undefined) return { ok: false, why: "what the node runs with is not known yet" };
  const another =
    findValueDifference(values, lastRan) ?? (hasRun ? undefined : describeMismatch(values, pathsDirectory, standing));
  return another === undefined ? { ok: true, document: parsed.document } : { ok: false, why: another };
}

/** Describes why a copy that this node is not known to have run with may be another node's; undefined if nothing shows that. */
function describeMismatch(
  copy: NodeValues,
  pathsDirectory: string,
  standing: ConfigDocument | undefined,
): string | undefined {
  if (!namesOwner(copy)) return "it names neither data nor keys, so nothing shows whether it is this node's";
  return standing === undefined ? undefined : findOwnershipDifference(copy, readNodeValues(standing, pathsDirectory));
}
