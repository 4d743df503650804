import { hash } from "node:crypto";
import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { createProcessLock } from "#daemon/files/process-lock.ts";
import { RecordError } from "./stack-record.ts";
import type { StackTarget } from "./stack-target.ts";

/**
 * Locks a stack for this process, regardless of where its program is and how its name is spelled. Undefined if another of this user's
 * processes holds the lock.
 *
 * @throws {RecordError} if the file can't be locked.
 */
export function lockStack(
  stateDirectory: string,
  { prefix, target }: Readonly<{ prefix: string; target: StackTarget }>,
): Disposable | undefined {
  const name = hash("sha256", `${prefix} ${identifyTarget(target)}`).slice(0, 32);
  const path = join(stateDirectory, `stack-upgrade-${name}.lock`);
  try {
    mkdirSync(stateDirectory, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new RecordError(`${stateDirectory} can't be made (${(cause as Error).message})`, { cause });
  }
  const lock = createProcessLock(path, prefix);
  const taken = lock.acquire();
  if (taken.ok) return lock;
  if (taken.reason === "Locked") return undefined;
  throw new RecordError(`${path} can't be locked; make it and its directory writable for this user`);
}

function identifyTarget(target: StackTarget): string {
  if (target.kind === "docker") return findSocket(target.engine);
  return `kubernetes ${target.context ?? ""} ${target.namespace}`;
}

/** Resolves an engine's socket path, which may have aliases: /var/run is a link to /run on most machines. */
function findSocket(engine: string): string {
  try {
    return realpathSync(engine.replace("unix://", ""));
  } catch {
    // A missing engine is reported when it is queried.
    return engine;
  }
}
