import { chmod, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Puts a script of the shell in the place of `node_cli`, which is kept next to it as `node_cli.kept`. Disposing of it puts that back. */
export async function replaceNodeCli(binDirectory: string, script: string): Promise<AsyncDisposable> {
  const program = join(binDirectory, "node_cli");
  await rename(program, `${program}.kept`);
  await writeFile(program, `#!/bin/sh\n${script}\n`);
  await chmod(program, 0o755);
  return { [Symbol.asyncDispose]: () => rename(`${program}.kept`, program) };
}
