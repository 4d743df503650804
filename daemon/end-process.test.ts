import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const directory = mkdtempSync(join(tmpdir(), "gatehouse-end-"));
const pipe = join(directory, "pipe");
const endProcess = JSON.stringify(new URL("end-process.ts", import.meta.url));

beforeAll(() => execFileSync("mkfifo", [pipe]));
afterAll(() => rmSync(directory, { recursive: true }));

/** Runs a program that opens a file, waits a moment, and ends itself with status 7. */
async function endingWhile(opened: string): Promise<readonly unknown[]> {
  const program = `
    import { open } from "node:fs/promises";
    import { endProcess } from ${endProcess};
    void open(${JSON.stringify(opened)});
    setTimeout(() => endProcess(7), 100);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: "inherit" });
  return once(child, "exit", { signal: AbortSignal.timeout(20_000) }).finally(() => child.kill("SIGKILL"));
}

test("ends with its status", async () => {
  expect(await endingWhile("/dev/null")).toEqual([7, null]);
});

test("ends with its status while a file can't be opened, which process.exit would wait for", async () => {
  expect(await endingWhile(pipe)).toEqual([7, null]);
});
