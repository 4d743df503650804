import { stat } from "node:fs/promises";
import type { FileDeadline } from "#daemon/files/file-deadline.ts";

/**
 * Whether a key file that node.conf names is not there. What this user may not look at may still be there for the node's.
 *
 * @throws {HangingFileSystem} where its file system hangs.
 */
export async function isKeyMissing(path: string, keyDeadline: FileDeadline): Promise<boolean> {
  return keyDeadline.call(`looking at ${path}`, () =>
    stat(path).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === "ENOENT" || error.code === "ENOTDIR",
    ),
  );
}
