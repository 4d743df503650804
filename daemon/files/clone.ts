import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, open, rm } from "node:fs/promises";
import { join } from "node:path";

/** Checks whether a directory's file system supports cloning, by cloning a file: file systems don't report it. */
export async function canClone(directory: string): Promise<boolean> {
  const probe = join(directory, `.gatehouse-clone-${randomUUID()}`);
  try {
    await using file = await open(probe, "wx", 0o600);
    await file.writeFile("probe");
    await copyFile(probe, `${probe}.copy`, constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch (error) {
    if (isCloneUnsupported(error)) return false;
    throw error;
  } finally {
    await rm(probe, { force: true });
    await rm(`${probe}.copy`, { force: true });
  }
}

/** Error codes from a file system that can't clone a file, or can't clone it yet: ZFS can't until it has written the file to disk. */
const noClone: ReadonlySet<string> = new Set("ENOTSUP EOPNOTSUPP ENOSYS EXDEV EINVAL ENOTTY EAGAIN".split(" "));

export function isCloneUnsupported(error: unknown): boolean {
  return noClone.has((error as NodeJS.ErrnoException).code ?? "");
}
