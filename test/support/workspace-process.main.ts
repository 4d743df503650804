import { armKillPoint } from "./kill-points.ts";

/** Copies a node's volume or puts the copy back, and kills itself at a step. Arguments: the step, `copy` or `restore`, the volume, the copy's id. */
const [killAt = "0", action = "", volume = "", id = ""] = process.argv.slice(2);
await armKillPoint(Number(killAt));
const { copyWorkspace, putWorkspaceBack } = await import("../../cli/stack-upgrade/workspace-copy.ts");
await (action === "copy" ? copyWorkspace(volume, id) : putWorkspaceBack(volume, id));
