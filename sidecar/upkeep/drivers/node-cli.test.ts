import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createLocalNodeCli, createNodeCli } from "./node-cli.ts";

test.each<[string, string | undefined, string, string, number?]>([
  ["missing", undefined, "NotFound", "node_cli does not exist; correct the program's path, or install it there."],
  ["not executable", "#!/bin/sh\n", "NotExecutable", "node_cli can't be executed (EACCES); run chmod +x on it.", 0o644],
  [
    "hanging",
    "#!/bin/sh\nexec sleep 60\n",
    "TimedOut",
    "node_cli did not finish within 500 ms and was killed; run it manually to see why.",
  ],
  [
    "printing 1 GB",
    "#!/bin/sh\nhead -c 1000000000 /dev/zero\n",
    "TooMuchOutput",
    "node_cli printed more than the limit of 65536 bytes and was killed; check that it is the right program.",
  ],
])("reports a plain error if node_cli is %s", async (_, text, reason, words, mode = 0o755) => {
  const directory = await makeTestDirectory();
  const path = join(directory, "node_cli");
  if (text !== undefined) await writeFile(path, text);
  if (text !== undefined) await chmod(path, mode);
  const run = createLocalNodeCli({ timeoutMs: 500, outputLimitBytes: 65_536 }, () => ({
    directory,
    command: "node_cli",
  }));
  const nodeCli = createNodeCli(() => ({ takesConfig: true, configArgument: "./node.conf" }), run);
  const result = await nodeCli.pruneInfo(new AbortController().signal);
  expect(result).toMatchObject({ ok: false, reason });
  expect(result.ok ? "" : result.message.replace(path, "node_cli")).toBe(words);
});
