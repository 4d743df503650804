import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { syncTree } from "./sync-tree.ts";

test("syncs a tree that contains a socket, a named pipe and a dangling link", async () => {
  const root = await makeTestDirectory();
  await using server = createServer();
  await mkdir(join(root, "chain"));
  await writeFile(join(root, "chain", "1"), "block");
  await promisify(execFile)("mkfifo", [join(root, "chain", "pipe")]);
  await symlink("nowhere", join(root, "chain", "link"));
  await new Promise<void>((resolve) => server.listen(join(root, "node.ipc"), resolve));
  await expect(syncTree(root, new AbortController().signal)).resolves.toBeUndefined();
});
