import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "#daemon/time.ts";
import { createPulumiProcess } from "./pulumi/pulumi-process.ts";
import { systemProcesses } from "./pulumi/processes.ts";

let directory: string;
const generousMs = 60_000;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gatehouse-update-"));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

describe("a process", () => {
  it("is identified by its start, and is gone once it has ended", async () => {
    const child = spawn(process.execPath, ["--eval", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    const { pid = 0 } = child;
    const startedAt = await systemProcesses.startOf(pid);
    expect(startedAt).toBeDefined();
    expect(await systemProcesses.startOf(pid)).toBe(startedAt);
    expect(startedAt).not.toBe(await systemProcesses.startOf(process.pid));
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await systemProcesses.startOf(pid)).toBeUndefined();
    systemProcesses.interrupt(pid);
    await systemProcesses.kill(pid);
  });

  it("is killed with what it has started in its own process group", async () => {
    const script = `const { pid } = require("node:child_process").spawn("sleep", ["1000"], { detached: true });
      process.stdout.write(String(pid));`;
    const child = spawn(process.execPath, ["--eval", script], { stdio: ["ignore", "pipe", "ignore"], detached: true });
    const [printed] = (await once(child.stdout, "data")) as [Buffer];
    const started = Number(printed.toString());
    expect(await systemProcesses.startOf(started)).toBeDefined();
    await systemProcesses.kill(child.pid ?? 0);
    expect(await systemProcesses.startOf(started)).toBeUndefined();
    expect(await systemProcesses.startOf(child.pid ?? 0)).toBeUndefined();
  });
});

const touch = (name: string) => ({ args: [name], withinMs: generousMs });

describe("a program that is let go", () => {
  it("begins in the process that was reported, after that", async () => {
    const run = createPulumiProcess(directory, { program: "touch" });
    let seen: readonly string[] | undefined;
    let start: string | undefined;
    await run({
      ...touch("begun"),
      onBegin: async (pid) => {
        start = await systemProcesses.startOf(pid);
        seen = await readdir(directory);
      },
    });
    expect(start).toBeDefined();
    expect([seen, await readdir(directory)]).toEqual([[], ["begun"]]);
  });

  it("never begins where nobody can note it", async () => {
    const run = createPulumiProcess(directory, { program: "touch" });
    let printed = 0;
    const begun = run({
      ...touch("never"),
      onBegin: async (pid) => {
        printed = pid;
        throw new Error("the disk is full");
      },
    });
    await expect(begun).rejects.toThrow("the disk is full");
    const gone = await waitUntil(
      () => systemProcesses.startOf(printed),
      (start) => start === undefined,
      { everyMs: 10, withinMs: generousMs },
    );
    expect(gone).toBeUndefined();
    expect(await readdir(directory)).not.toContain("never");
  });
});
