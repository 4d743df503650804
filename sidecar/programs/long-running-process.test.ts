import { readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { isDetachedProgram, runLongRunningProcess, type LongRunningProcessOptions } from "./long-running-process.ts";
import { createOutputFiles, type OutputFiles } from "./output-files.ts";

const log = pino({ level: "silent" });
const deadline = { call: <T>(_: string, call: () => Promise<T>) => call() };
const limits = { fileBytes: 20_000, everyMs: 10 };

let directory: string;
let output: string;
let files: OutputFiles;

beforeEach(async () => {
  directory = await makeTestDirectory();
  output = join(directory, "output");
  files = createOutputFiles(output, { deadline, log }, limits);
});

afterEach(() => files[Symbol.asyncDispose]());

const run = (script: string, options: Partial<LongRunningProcessOptions> = {}) =>
  runLongRunningProcess(
    {
      name: "node",
      command: ["sh", "-c", script],
      directory,
      timeoutMs: 20_000,
      signal: new AbortController().signal,
      ...options,
    },
    files,
  );

const waitForLimit = (over: AbortSignal) =>
  new Promise<boolean>((resolve) => over.addEventListener("abort", () => resolve(true)));
const read = (name: string) => readFile(join(output, name), "utf8");
const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("describes a failed command by its output, as with a pipe, and keeps the previous run's files", async () => {
  expect(await run("echo first; exit 0")).toEqual({ ok: true, output: "first\n" });
  expect(await run("echo out; echo 'no config' >&2; exit 3")).toEqual({
    ok: false,
    reason: "Failed",
    message: "sh exited with status 3: no config",
    said: "no config",
    exitStatus: 3,
  });
  expect(await run("echo 'a warning' >&2")).toMatchObject({ ok: true, failureOutput: "a warning" });
  expect(await readdir(output)).toEqual(["node.err.log", "node.err.log.1", "node.out.log", "node.out.log.1"]);
  expect([await read("node.out.log.1"), await read("node.err.log")]).toEqual(["out\n", "a warning\n"]);
  expect((await stat(join(output, "node.out.log"))).mode & 0o777).toBe(0o600);
});

test("lets a remaining daemon keep printing, and empties its file whenever it grows too large", async () => {
  const line = "0123456789".repeat(200);
  const script = `while :; do echo ${line} && echo x >>lines; sleep 0.01; done`;
  await writeFile(join(directory, "daemon"), script);
  const result = await run("sh daemon & echo $! >pid");
  expect(result.ok).toBe(true);
  const pid = Number(await readFile(join(directory, "pid"), "utf8"));
  try {
    const lines = async () => ((await stat(join(directory, "lines")).catch(() => undefined))?.size ?? 0) / 2;
    await readUntil(lines, (count) => count * line.length > 4 * limits.fileBytes);
    expect((await stat(join(output, "node.out.log"))).size).toBeLessThan(2 * limits.fileBytes);
    expect(isAlive(pid)).toBe(true);
  } finally {
    process.kill(pid, "SIGKILL");
  }
});

test("leaves a command running that has done its work but does not exit", async () => {
  const result = await run("echo $$; exec sleep 60", {
    isDone: async () =>
      (await readUntil(
        () => read("node.out.log").catch(() => ""),
        (text) => text !== "",
      )) !== "",
  });
  expect(result).toEqual({ ok: true, output: "", isLeft: true });
  const pid = Number(await read("node.out.log"));
  expect([isAlive(pid), isDetachedProgram(pid)]).toEqual([true, true]);
  process.kill(pid, "SIGKILL");
  await readUntil(
    () => isDetachedProgram(pid),
    (isLeft) => !isLeft,
  );
});

test("leaves a command running that turns out to be done at its time limit", async () => {
  const result = await run("echo $$; exec sleep 60", { timeoutMs: 100, isDone: waitForLimit });
  expect(result).toMatchObject({ ok: true, isLeft: true });
  process.kill(Number(await read("node.out.log")), "SIGKILL");
});

test("kills an unfinished command and its children", async () => {
  const result = await run("sleep 60 & echo $!; sleep 60", { timeoutMs: 300 });
  expect(result).toMatchObject({ ok: false, reason: "TimedOut", message: expect.stringContaining("within 300 ms") });
  const pid = Number(await read("node.out.log"));
  await readUntil(
    () => isAlive(pid),
    (alive) => !alive,
  );
});

test("runs without output files if they cannot be created, and loses the output", async () => {
  await writeFile(output, "a file in the place of the directory");
  expect(await run("echo out; echo err >&2; exit 3")).toMatchObject({ message: "sh exited with status 3." });
});
