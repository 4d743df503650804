import type { VersionResolution } from "./version-resolution.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/** Says which version the node has, when it became another one, and whether all that tell it agree, the node's place included. */
export function setVersionCondition(
  resolution: VersionResolution,
  doubtOfPlace: string | undefined,
  memory: UpkeepMemory,
  { board, events }: UpkeepParts,
): void {
  const type = "VersionAgreed";
  if (resolution.version === undefined) {
    board.set({ type, status: "False", reason: "VersionUnknown", message: unknownVersion(resolution) });
    return;
  }
  const { version, source, disagreements } = resolution;
  const before = memory.version;
  memory.version = version.text;
  if (before !== undefined && before !== version.text) {
    events.add("version", `The node's version is ${version.text} now, was ${before}.`, `${source} says so`);
  }
  const base = `The node's version is ${version.text} (${source}).`;
  if (doubtOfPlace !== undefined) {
    board.set({ type, status: "False", reason: "Disagreement", message: `${base} But ${doubtOfPlace}.` });
  } else if (disagreements.length === 0) board.set({ type, status: "True", reason: "Agreed", message: base });
  else {
    const message = `${base} But ${disagreements.join(", and ")}; correct node.version or finish the upgrade.`;
    board.set({ type, status: "False", reason: "Disagreement", message });
  }
}

function unknownVersion({ heard }: VersionResolution): string {
  const but = heard.length === 0 ? "nothing tells it" : `${heard.join(", ")}, which names no version of this node`;
  return `The node's version is not known (${but}). Set node.version (GATEHOUSE_SIDECAR_NODE_VERSION) to that of the node's release, e.g. 0.16.2.`;
}
