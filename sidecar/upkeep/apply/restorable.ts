import { parseConfig, type ConfigDocument } from "../observe/config-document.ts";
import { ownershipDifference, tieDifference, tiesOf } from "../state/config-ties.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";

/** Whether a remembered copy may stand in for node.conf, and if not, why. */
export type Restorable = Readonly<{ ok: true; document: ConfigDocument } | { ok: false; why: string }>;

/**
 * Judges a remembered copy. Only one with the data, keys and ports of the node as it last ran is restored, and only over a node.conf with the
 * same data and keys, where that can be read: a node that starts with another's would write into another's chain data.
 */
export function restorable(
  copy: Uint8Array,
  configPath: string,
  standing: ConfigDocument | undefined,
  { nodeTies }: Pick<UpkeepState, "nodeTies">,
): Restorable {
  const parsed = parseConfig(copy);
  if (!parsed.ok) return { ok: false, why: "it can't be used itself" };
  const ties = tiesOf(parsed.document, configPath);
  const ran = nodeTies.get();
  if (ran === undefined) return { ok: false, why: "what the node runs with is not known yet" };
  const another =
    tieDifference(ties, ran) ??
    (standing === undefined ? undefined : ownershipDifference(ties, tiesOf(standing, configPath)));
  return another === undefined ? { ok: true, document: parsed.document } : { ok: false, why: another };
}
