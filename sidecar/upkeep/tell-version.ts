import type { VersionResolution } from "./observe/version-resolution.ts";
import type { UpkeepMemory, UpkeepParts } from "./upkeep-parts.ts";

/** Says which version the node has, when it became another one, and whether all that tell it agree. */
export function tellVersion(resolution: VersionResolution, memory: UpkeepMemory, { board, events }: UpkeepParts): void {
  const type = "VersionAgreed";
  if (resolution.version === undefined) {
    const message = "Neither node_cli, the RPC nor the image tells the node's version; set node.version.";
    board.set({ type, status: "False", reason: "VersionUnknown", message });
    return;
  }
  const { version, source, disagreements } = resolution;
  const before = memory.version;
  memory.version = version.text;
  if (before !== undefined && before !== version.text) {
    events.add("version", `The node's version is ${version.text} now, was ${before}.`, `${source} says so`);
  }
  const base = `The node's version is ${version.text} (${source}).`;
  if (disagreements.length === 0) board.set({ type, status: "True", reason: "Agreed", message: base });
  else {
    const message = `${base} But ${disagreements.join(", and ")}; correct node.version or finish the upgrade.`;
    board.set({ type, status: "False", reason: "Disagreement", message });
  }
}
