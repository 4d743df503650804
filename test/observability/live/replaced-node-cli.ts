import { chmod, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Replaces `node_cli` with a shell script, and keeps the original next to it as `node_cli.kept`. Disposing of it
 * restores the original.
 */
export async function replaceNodeCli(binDirectory: string, script: string): Promise<AsyncDisposable> {
  const program = join(binDirectory, "node_cli");
  await rename(program, `${program}.kept`);
  await writeFile(program, `#!/bin/sh\n${script}\n`);
  await chmod(program, 0o755);
  return { [Symbol.asyncDispose]: () => rename(`${program}.kept`, program) };
}
