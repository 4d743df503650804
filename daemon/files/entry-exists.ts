import { lstat } from "node:fs/promises";
import { skipMissing } from "../skip-missing.ts";

/** Returns whether an entry of that name exists, including a broken link. */
export async function entryExists(path: string): Promise<boolean> {
  return (await lstat(path).catch(skipMissing)) !== undefined;
}
