import childProcess from "node:child_process";
import promises, { type FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { DatabaseSync, StatementSync } from "node:sqlite";

/**
 * Kills this process with SIGKILL right before its n-th externally visible step: a file created, written, renamed or
 * removed, a SQLite row, a program started. A file write counts twice: before, and with half of it on disk.
 */
export async function armKillPoint(killAt: number): Promise<void> {
  let steps = 0;
  const step = () => {
    steps += 1;
    if (steps === killAt) process.kill(process.pid, "SIGKILL");
  };
  await using file = await promises.open("/dev/null", "r");
  const handle = Object.getPrototypeOf(file) as FileHandle;
  for (const name of ["mkdir", "rename", "rm", "unlink", "chmod", "chown"] as const)
    insertStepBefore(promises, name, step);
  for (const name of ["sync", "chmod", "chown", "truncate"] as const) insertStepBefore(handle, name, step);
  insertStepHalfway(handle, step);
  openForWriting(step);
  insertStepBefore(DatabaseSync.prototype, "exec", step);
  insertStepBefore(StatementSync.prototype, "run", step);
  insertStepBefore(childProcess, "spawn", step);
  syncBuiltinESMExports();
}

type Callable = (...args: unknown[]) => unknown;

function insertStepBefore<Name extends string>(
  owner: Readonly<Record<Name, unknown>>,
  name: Name,
  step: () => void,
): void {
  const original = owner[name] as Callable;
  const replacement: Callable = function (this: unknown, ...args) {
    step();
    return original.apply(this, args);
  };
  Object.defineProperty(owner, name, { value: replacement, configurable: true, writable: true });
}

function insertStepHalfway(handle: FileHandle, step: () => void): void {
  const original = handle.writeFile as (this: FileHandle, content: Uint8Array) => Promise<void>;
  const replacement = async function (this: FileHandle, content: string | Uint8Array): Promise<void> {
    const bytes = Buffer.from(content);
    const half = Math.floor(bytes.length / 2);
    step();
    await this.write(bytes.subarray(0, half), 0, half, 0);
    step();
    await this.truncate(0);
    await original.call(this, bytes);
  };
  Object.defineProperty(handle, "writeFile", { value: replacement, configurable: true, writable: true });
}

function openForWriting(step: () => void): void {
  const original = promises.open;
  const replacement: typeof promises.open = (path, flags, mode) => {
    if (flags !== "r") step();
    return original(path, flags, mode);
  };
  Object.defineProperty(promises, "open", { value: replacement, configurable: true, writable: true });
}
