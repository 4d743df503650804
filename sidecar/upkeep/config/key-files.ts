import { stat } from "node:fs/promises";
import type { FileDeadline } from "#daemon/files/file-deadline.ts";

/**
 * Whether a key file that node.conf names is missing. One that this user may not look at is not: it may be there for the node's user.
 *
 * @throws {HangingFileSystem} if its file system hangs.
 */
export async function isKeyMissing(path: string, keyDeadline: FileDeadline): Promise<boolean> {
  return keyDeadline.call(`looking at ${path}`, () =>
    stat(path).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === "ENOENT" || error.code === "ENOTDIR",
    ),
  );
}
