import { readFile } from "node:fs/promises";
import { z } from "zod";
import { replaceFile } from "./files/atomic-file.ts";
import { parseJson } from "./json-rpc.ts";
import { skipMissing } from "./skip-missing.ts";
import { isRunning, readProcessIdentity, type ProcessIdentity } from "./process/running-process.ts";

const schema = z.object({ pid: z.int().min(1), startTicks: z.int().min(0) });

/** Writes the identity of a process to a file, unless it has exited. */
export async function recordProcess(path: string, pid: number): Promise<void> {
  const identity = await readProcessIdentity(pid);
  if (identity !== undefined) await replaceFile(path, JSON.stringify(identity), { mode: 0o644 });
}

/** Finds the process whose identity a file contains; undefined if it has exited, or the file contains something else. */
export async function findRecordedProcess(path: string): Promise<ProcessIdentity | undefined> {
  const text = await readFile(path, "utf8").catch(skipMissing);
  if (text === undefined) return undefined;
  const identity = schema.safeParse(parseJson(text));
  return identity.success && (await isRunning(identity.data)) ? identity.data : undefined;
}
