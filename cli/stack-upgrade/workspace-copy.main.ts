import * as workspace from "./workspace-copy.ts";

/** `restore` takes the data from a snapshot if one is given, otherwise from the copy on the volume. */
const [action = "", volume = "", id = "", snapshot] = process.argv.slice(2);

const actions: Readonly<Record<string, () => Promise<unknown>>> = {
  look: async () => process.stdout.write(`${JSON.stringify(await workspace.checkWorkspace(volume))}\n`),
  flush: () => workspace.flushWorkspace(volume),
  copy: () => workspace.copyWorkspace(volume, id),
  restore: () =>
    snapshot === undefined ? workspace.rollBackWorkspace(volume, id) : workspace.restoreWorkspace(volume, snapshot),
  remove: () => workspace.removeCopy(volume, id),
  discard: () => workspace.discardWork(volume, id),
};

try {
  const run = actions[action];
  const isComplete = volume !== "" && (id !== "" || action === "look" || action === "flush");
  if (run === undefined || !isComplete)
    throw new Error(
      "usage: look|flush <volume> | copy|restore|remove|discard <volume> <id> | restore <volume> <id> <snapshot>",
    );
  await run();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
