import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";

const program = join(import.meta.dirname, "../../cli/gatehouse.js");
const hasTerminals = spawnSync("script", ["--version"]).status === 0;
const why = hasTerminals ? "" : " (skipped: util-linux's script is not installed)";

/** Returns what `gatehouse stack` shows on a terminal of 80 columns before it detects that a port is in use. */
async function showStart(env: Readonly<Record<string, string>>): Promise<string> {
  const folder = await makeTestDirectory();
  await using server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const taken = { GATEHOUSE_SIDECAR_LISTEN_PORT: String((server.address() as AddressInfo).port) };
  const command = `stty columns 80; ${quoteShellWord(program)} stack --once`;
  const path = `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`;
  const { NO_COLOR: _, ...own } = process.env;
  const ended = promisify(execFile)("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    cwd: folder,
    env: { ...own, PATH: path, TERM: "xterm", ...taken, ...env },
    timeout: 60_000,
  });
  const { code, stdout } = await ended.then(
    ({ stdout: shown }) => ({ code: 0, stdout: shown }),
    (error: unknown) => error as Readonly<{ code: number; stdout: string }>,
  );
  expect([code, stdout]).toEqual([1, expect.stringContaining("GATEHOUSE_SIDECAR_LISTEN_PORT")]);
  return stdout;
}

test.skipIf(!hasTerminals)(`colours the stack on a terminal, unless NO_COLOR is set${why}`, async () => {
  expect(await showStart({})).toContain("\u001b[2mpreparing the node's workspace and the local chain\u001b[22m");
  const plain = await showStart({ NO_COLOR: "1" });
  expect(plain).toContain("preparing the node's workspace and the local chain");
  expect(plain).not.toContain("\u001b[");
});

test("reports its first step before it loads the rest of the program, which takes most of a second", async () => {
  const reject = `import { registerHooks } from "node:module";
    registerHooks({ load: (url, context, next) => {
      if (url.endsWith("/cli/stack/stack.ts")) throw new Error("not loaded yet");
      return next(url, context);
    } });`;
  const args = ["--import", `data:text/javascript,${encodeURIComponent(reject)}`, program, "stack", "--once"];
  const started = promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  await expect(started).rejects.toMatchObject({
    stdout: "preparing the node's workspace and the local chain\n",
    stderr: expect.stringContaining("not loaded yet"),
  });
});
