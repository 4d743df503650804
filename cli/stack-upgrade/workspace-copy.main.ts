import * as workspace from "./workspace-copy.ts";

/**
 * Works on a node's volume, in a separate container of an upgrade. `restore` with a snapshot replaces the data with the snapshot's; without
 * one, it restores the copy on the volume.
 */
const [action = "", volume, id, snapshot] = process.argv.slice(2);

const checks: Readonly<Record<string, (at: string) => Promise<unknown>>> = {
  look: async (at) => process.stdout.write(`${JSON.stringify(await workspace.checkWorkspace(at))}\n`),
  flush: workspace.flushWorkspace,
};
const changes: Readonly<Record<string, (at: string, upgrade: string) => Promise<void>>> = {
  copy: workspace.copyWorkspace,
  restore: (at, upgrade) =>
    snapshot === undefined ? workspace.putWorkspaceBack(at, upgrade) : workspace.restoreWorkspace(at, snapshot),
  remove: workspace.removeCopy,
  discard: workspace.discardWork,
};

try {
  const [check, change] = [checks[action], changes[action]];
  if (volume !== undefined && check !== undefined) await check(volume);
  else if (volume !== undefined && id !== undefined && change !== undefined) await change(volume, id);
  else
    throw new Error(
      "usage: look|flush <volume> | copy|restore|remove|discard <volume> <id> | restore <volume> <id> <snapshot>",
    );
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
