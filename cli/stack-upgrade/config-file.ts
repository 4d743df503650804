import { stat } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";
import { Refused, type StackRecord } from "./stack-record.ts";
import { describeRecord } from "./stack-plan.ts";

/** Stack and absolute paths as typed; `configFile` is undefined if not given. */
type TypedPlace = Readonly<{ stack: string; directory: string; configFile: string | undefined }>;

/**
 * Finds a stack's configuration file. A resumed upgrade uses its original file, even if it has moved with the program's directory; if the
 * original was removed, the file given on the command line is used.
 *
 * @throws {Refused} if a different file is given, or if the file can't be read.
 */
export async function findConfigFile(
  { stack, directory, configFile: typed }: TypedPlace,
  known: StackRecord | undefined,
): Promise<string> {
  const first = known === undefined ? undefined : locateFirst(known, directory);
  if (known !== undefined && first !== undefined && typed !== undefined && typed !== first && (await isFile(first))) {
    throw new Refused(`${describeRecord(known)}, with ${first}; leave --config-file out to go on`);
  }
  const path = typed ?? first ?? join(directory, `Pulumi.${stack.split("/").at(-1) ?? stack}.yaml`);
  if (await isFile(path)) return path;
  throw new Refused(`${path} is no readable file; name it by --config-file, or the program's directory by --cwd`);
}

/** Locates an upgrade's original file; a file outside the program's directory did not move with it. */
function locateFirst({ directory: before, configFile }: StackRecord, directory: string): string {
  const within = relative(before, configFile);
  return within.startsWith("..") || isAbsolute(within) ? configFile : join(directory, within);
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
