import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";

type Talking = ChildProcessByStdio<null, Readable, Readable>;

async function talking(lines: number): Promise<Readonly<{ process: Talking; residentBytes: number }>> {
  const program = join(import.meta.dirname, "talking.main.ts");
  const child = spawn(process.execPath, [program, String(lines)], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [said] = (await once(child.stderr, "data")) as [Buffer];
  return { process: child, ...(JSON.parse(String(said)) as { residentBytes: number }) };
}

async function statusAfter(child: Talking, signal: NodeJS.Signals): Promise<unknown> {
  const exited = once(child, "exit");
  child.kill(signal);
  return (await exited)[0];
}

test("logs up to the last line if the reader keeps up", async () => {
  const { process: child } = await talking(500);
  const printed = text(child.stdout);
  expect(await statusAfter(child, "SIGTERM")).toBe(3);
  const lines = (await printed).trimEnd().split("\n");
  expect(lines).toHaveLength(501);
  expect(lines.at(-1)).toContain("the last line");
});

test.each([
  ["standard output closes", ["stdout"]],
  ["standard output and standard error close", ["stdout", "stderr"]],
] as const)("keeps running after %s, and exits as requested", async (_what, streams) => {
  const { process: child } = await talking(1);
  for (const stream of streams) child[stream].destroy();
  child.kill("SIGUSR2");
  await setTimeout(500);
  expect(child.exitCode).toBeNull();
  expect(await statusAfter(child, "SIGTERM")).toBe(3);
});

test("limits the memory held for a stalled reader, and delays exit only for a limited time", async () => {
  const { process: quiet, residentBytes: usual } = await talking(1);
  quiet.kill("SIGKILL");
  const { process: child, residentBytes } = await talking(100_000);
  expect(residentBytes - usual).toBeLessThan(60 * 1024 * 1024);
  // If it awaited its reader, it would never exit.
  expect(await statusAfter(child, "SIGTERM")).toBe(3);
});

test("counts dropped lines once the reader resumes", async () => {
  const { process: child } = await talking(20_000);
  const printed = text(child.stdout);
  await once(child.stdout, "data");
  expect(await statusAfter(child, "SIGTERM")).toBe(3);
  const lines = (await printed).trimEnd().split("\n");
  const dropped = lines
    .map((line) => JSON.parse(line) as { gatehouse?: { lines?: number } })
    .find((line) => line.gatehouse?.lines !== undefined)?.gatehouse;
  expect(dropped?.lines).toBeGreaterThan(1_000);
  // Each of the 20,001 lines was received or counted as lost; one more line reports the number lost.
  expect(lines.length - 1 + (dropped?.lines ?? 0)).toBe(20_001);
});
