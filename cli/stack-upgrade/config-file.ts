import { stat } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";
import { Refused } from "./refused.ts";
import { describeRecord } from "./stack-plan.ts";
import type { StackRecord } from "./stack-record.ts";

/** Stack and absolute paths as typed; `configFile` is undefined if none was named. */
type TypedPlace = Readonly<{ stack: string; directory: string; configFile: string | undefined }>;

/**
 * Finds a stack's configuration file. An upgrade is resumed with the file that it was begun with; if that is gone, with the typed one, or
 * the one at the same place in a program's directory that was moved.
 *
 * @throws {Refused} for a different file, or one that can't be read.
 */
export async function findConfigFile(typed: TypedPlace, known: StackRecord | undefined): Promise<string> {
  const path = await choosePath(typed, known);
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Refused(
      `${path} can't be read (${error.code ?? error.message}); name it by --config-file, or the program's directory by --cwd`,
    );
  });
  if (!found.isFile()) throw new Refused(`${path} is not a file`);
  return path;
}

async function choosePath(
  { stack, directory, configFile }: TypedPlace,
  known: StackRecord | undefined,
): Promise<string> {
  if (known === undefined) return configFile ?? join(directory, `Pulumi.${stack.split("/").at(-1) ?? stack}.yaml`);
  if (await isGone(known.configFile)) return configFile ?? findMoved(known, directory);
  if (configFile !== undefined && configFile !== known.configFile) {
    throw new Refused(`${describeRecord(known)}, with ${known.configFile}; leave --config-file out to go on`);
  }
  return known.configFile;
}

async function isGone(path: string): Promise<boolean> {
  try {
    await stat(path);
    return false;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A file that can't be read for another reason may exist.
    return code === "ENOENT" || code === "ENOTDIR";
  }
}

/** Returns the new path of a file in a program's directory that was moved; a file elsewhere did not move with it. */
function findMoved({ directory: before, configFile }: StackRecord, directory: string): string {
  const within = relative(before, configFile);
  return within.startsWith("..") || isAbsolute(within) ? configFile : join(directory, within);
}
