import { hash } from "node:crypto";
import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { keepPrivate } from "#daemon/files/atomic-file.ts";
import { RecordError } from "./stack-record.ts";
import type { StackTarget } from "./stack-target.ts";

/** SQLite's result code SQLITE_BUSY, in the lowest byte. */
const busy = 5;

/**
 * Locks a stack for this process, wherever its program is and however the stack's name is spelt; the operating system releases the lock when
 * the process ends, however it ends. The file stays: another process may have opened it just now. Undefined if another process of this user
 * has the lock.
 *
 * @throws {RecordError} if the file can't be locked.
 */
export function lockStack(
  stateDirectory: string,
  { prefix, target }: Readonly<{ prefix: string; target: StackTarget }>,
): Disposable | undefined {
  const name = hash("sha256", `${prefix} ${identifyTarget(target)}`).slice(0, 32);
  const path = join(stateDirectory, `stack-upgrade-${name}.lock`);
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(stateDirectory, { recursive: true, mode: 0o700 });
    database = new DatabaseSync(path, { timeout: 0 });
    keepPrivate(path);
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; PRAGMA user_version = 1");
  } catch (cause) {
    database?.close();
    const { errcode = 0, message } = cause as Error & { errcode?: number };
    if ((errcode & 0xff) === busy) return undefined;
    throw new RecordError(`${path} can't be locked (${message}); make the directory writable`, { cause });
  }
  const held = database;
  return { [Symbol.dispose]: () => held.close() };
}

function identifyTarget(target: StackTarget): string {
  if (target.kind === "docker") return findSocket(target.engine);
  return `kubernetes ${target.context ?? ""} ${target.namespace}`;
}

/** Resolves the path of an engine's socket, which may have several: /var/run is a link to /run on most machines. */
function findSocket(engine: string): string {
  try {
    return realpathSync(engine.replace("unix://", ""));
  } catch {
    // A missing engine is reported when it is queried.
    return engine;
  }
}
