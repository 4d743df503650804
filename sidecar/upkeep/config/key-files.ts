import { stat } from "node:fs/promises";
import type { FileDeadline } from "#daemon/files/file-deadline.ts";

/**
 * Whether a key file specified in node.conf is missing. A file that this user can't access counts as present, because the node's user may
 * have access.
 *
 * @throws {HangingFileSystem} if the key's file system hangs.
 */
export async function isKeyMissing(path: string, keyDeadline: FileDeadline): Promise<boolean> {
  return keyDeadline.call(`checking ${path}`, () =>
    stat(path).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === "ENOENT" || error.code === "ENOTDIR",
    ),
  );
}
