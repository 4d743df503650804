import {
  copyWorkspace,
  discardWork,
  flushWorkspace,
  checkWorkspace,
  putWorkspaceBack,
  removeCopy,
  restoreWorkspace,
} from "./workspace-copy.ts";

/**
 * Works on a node's volume, in a separate container of an upgrade: `workspace-copy.main.ts look <volume>`, `flush <volume>`, or `copy`,
 * `restore`, `remove` or `discard <volume> <id>`; `restore <volume> <id> <snapshot>` restores the data from a snapshot.
 */
const [action, volume, id, snapshot] = process.argv.slice(2);
try {
  await runAction();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}

async function runAction(): Promise<void> {
  if (volume !== undefined && action === "look") {
    process.stdout.write(`${JSON.stringify(await checkWorkspace(volume))}\n`);
  } else if (volume !== undefined && action === "flush") {
    await flushWorkspace(volume);
  } else if (volume !== undefined && id !== undefined && action === "copy") {
    await copyWorkspace(volume, id);
  } else if (volume !== undefined && id !== undefined && action === "restore") {
    await (snapshot === undefined ? putWorkspaceBack(volume, id) : restoreWorkspace(volume, id, snapshot));
  } else if (volume !== undefined && id !== undefined && action === "remove") {
    await removeCopy(volume, id);
  } else if (volume !== undefined && id !== undefined && action === "discard") {
    await discardWork(volume, id);
  } else {
    throw new Error(
      "usage: workspace-copy.main.ts look|flush <volume> | copy|restore|remove|discard <volume> <id> | restore <volume> <id> <snapshot>",
    );
  }
}
