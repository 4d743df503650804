import { existsSync, readdirSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StartupError } from "#daemon/startup-error.ts";
import type { StateDirectory } from "./state-directory.ts";
import { keepPrivate } from "#daemon/files/atomic-file.ts";

const lockName = "stack.lock";

/**
 * Makes this process the only stack on a state directory until the result is disposed of. The kernel takes the lock back from
 * a killed process. The lock's file also marks the folder as a stack's own: `fresh` empties no other.
 *
 * @throws {StartupError} when another stack runs on the directory, or `fresh` would empty a folder that no stack made.
 */
export async function lockStateDirectory({ root }: StateDirectory, fresh: boolean): Promise<Disposable> {
  const path = join(root, lockName);
  if (fresh && existsSync(root) && !existsSync(path) && readdirSync(root).length > 0) {
    throw new StartupError(`${root} was not made by a stack, so --fresh leaves it alone; name another --state-dir.`);
  }
  await mkdir(root, { recursive: true, mode: 0o700 });
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    keepPrivate(path);
    lock.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;");
  } catch (cause) {
    lock.close();
    throw new StartupError(`another stack runs on ${root}; stop it, or name another --state-dir.`, { cause });
  }
  return { [Symbol.dispose]: () => lock.close() };
}

/** Removes everything that an earlier stack left, but for the lock that this process holds. */
export async function clearStateDirectory({ root }: StateDirectory): Promise<void> {
  const entries = readdirSync(root).filter((name) => !name.startsWith(lockName));
  await Promise.all(entries.map((name) => rm(join(root, name), { recursive: true, force: true })));
}
