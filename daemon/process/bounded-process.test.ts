import { chmod, copyFile, open, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { runProcess, type ProcessResult } from "./bounded-process.ts";

const directory = makeSharedDirectory();

async function run(name: string, text: string | undefined, timeoutMs = 5_000, mode = 0o755): Promise<ProcessResult> {
  const file = join(directory, name);
  if (text !== undefined) {
    await writeFile(file, text);
    await chmod(file, mode);
  }
  const signal = new AbortController().signal;
  return runProcess({ command: [file], directory, timeoutMs, outputLimitBytes: 1_000, signal });
}

const words = (result: ProcessResult) => (result.ok ? result.output : result.message.replaceAll(`${directory}/`, ""));

describe("a failed command is reported with the cause", () => {
  test("hanging, with a child that hangs too: both are killed", async () => {
    const result = await run("hanging", "#!/bin/sh\nsleep 60 &\necho $!\nsleep 60\n", 300);
    expect(words(result)).toBe("hanging did not finish within 300 ms and was killed; run it manually to see why.");
  });

  test("failing: status and the start of its output", async () => {
    const result = await run("failing", "#!/bin/sh\necho 'no config' >&2\nexit 3\n");
    expect(words(result)).toBe("failing exited with status 3: no config");
  });

  test("in a missing directory", async () => {
    const signal = new AbortController().signal;
    const options = { directory: join(directory, "gone"), timeoutMs: 1_000, outputLimitBytes: 10, signal };
    const result = await runProcess({ command: ["/bin/true"], ...options });
    expect(words(result)).toContain("the directory gone does not exist");
  });
});

/** Programs for which Node's spawn throws synchronously instead of emitting an error event. */
describe("a command that the system cannot run fails without a rejection", () => {
  type Case = readonly [errno: string, make: () => Promise<readonly [string, ...string[]]>, says: string];
  const cases: readonly Case[] = [
    [
      "ETXTBSY",
      async () => {
        const file = join(directory, "busy");
        await copyFile("/bin/true", file);
        await chmod(file, 0o755);
        const writer = await open(file, "r+");
        onTestFinished(() => writer.close());
        return [file];
      },
      "busy can't be run (ETXTBSY): another process is writing it; `fuser -v busy` shows which.",
    ],
    [
      "ELOOP",
      async () => {
        const file = join(directory, "loop");
        await symlink(file, file);
        return [file];
      },
      "loop can't be run (ELOOP): it is a circular link; `ls -l loop` shows it. Replace it with the program.",
    ],
    [
      "an argument with a zero byte",
      async () => ["/bin/true", "a\0b"],
      "/bin/true can't be run (ERR_INVALID_ARG_VALUE)",
    ],
  ];

  test.each(cases)("%s", async (_, make, says) => {
    const { signal } = new AbortController();
    const options = { directory, timeoutMs: 5_000, outputLimitBytes: 10, signal };
    const result = await runProcess({ command: await make(), ...options });
    expect(result).toMatchObject({ ok: false, reason: "Failed" });
    expect(words(result)).toContain(says);
  });

  test("in a directory that is a file", async () => {
    await writeFile(join(directory, "no-directory"), "");
    const { signal } = new AbortController();
    const options = { directory: join(directory, "no-directory"), timeoutMs: 5_000, outputLimitBytes: 10, signal };
    expect(words(await runProcess({ command: ["/bin/true"], ...options }))).toBe(
      "/bin/true can't be run: no-directory is not a directory (ENOTDIR); set node.workspace, node.binDirectory or, before v0.11, node.nodeDirectory.",
    );
  });
});

test("a daemon that keeps the pipes open does not delay the result", async () => {
  const began = performance.now();
  expect(words(await run("daemon", "#!/bin/sh\necho started\nsleep 45 &\n"))).toBe("started\n");
  expect(performance.now() - began).toBeLessThan(40_000);
});
