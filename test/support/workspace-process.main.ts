import { armKillPoint } from "./kill-points.ts";

/**
 * Copies a node's volume or restores the copy or a snapshot, and kills itself at a step. Arguments: the step, `copy` or
 * `restore`, the volume, the copy's id, the snapshot.
 */
const [killAt = "0", action = "", volume = "", id = "", snapshot] = process.argv.slice(2);
await armKillPoint(Number(killAt));
const { copyWorkspace, rollBackWorkspace, restoreWorkspace } =
  await import("../../cli/stack-upgrade/workspace-copy.ts");
if (action === "copy") await copyWorkspace(volume, id);
else if (snapshot === undefined) await rollBackWorkspace(volume, id);
else await restoreWorkspace(volume, snapshot);
