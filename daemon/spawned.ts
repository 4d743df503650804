import { once } from "node:events";
import type { ChildProcess } from "node:child_process";

/**
 * Waits until a child runs. To be called at once after `spawn`, before anything of the child is touched: Node tells why a program could
 * not be started a tick later, in an `error` event that ends a process which does not listen, and a child that no descriptor was left
 * for (EMFILE) has no pipes.
 *
 * @throws {NodeJS.ErrnoException} why it could not be started, e.g. ENOENT, EACCES or EMFILE.
 */
export async function spawned(child: ChildProcess): Promise<void> {
  await once(child, "spawn");
}
