import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { stopChild } from "./stop-child.ts";

const minuteMs = 60_000;

/** A child process that has reported that it is running; `handler` is its SIGTERM handler. */
async function startChild(handler?: string): Promise<ChildProcess> {
  const listen = handler === undefined ? "" : `process.on("SIGTERM", () => { ${handler} });`;
  const program = `${listen} process.stdin.on("end", () => process.exit(7)).resume(); console.log("runs");`;
  const child = spawn(process.execPath, ["--eval", program], { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

const endOf = ({ exitCode, signalCode }: ChildProcess) => exitCode ?? signalCode;

it("waits for a child that exits on SIGTERM", async () => {
  const child = await startChild("process.exit(3)");
  await stopChild(child, { deadlineMs: minuteMs });
  expect(endOf(child)).toBe(3);
});

it("kills one that does not exit", async () => {
  const child = await startChild("");
  await stopChild(child, { deadlineMs: 50 });
  expect(endOf(child)).toBe("SIGKILL");
});

it("stops and kills a child with the given functions", async () => {
  const child = await startChild();
  await stopChild(child, { deadlineMs: minuteMs, stop: () => child.stdin?.end() });
  expect(endOf(child)).toBe(7);
  const other = await startChild("");
  await stopChild(other, { deadlineMs: 50, stop: () => undefined, kill: () => other.kill("SIGQUIT") });
  expect(endOf(other)).toBe("SIGQUIT");
});

it("kills nothing once the child has exited, since its pid may be reused", async () => {
  const child = await startChild("process.exit(3)");
  let kills = 0;
  const deadlineMs = 1_000;
  const startedAt = performance.now();
  await stopChild(child, { deadlineMs, kill: () => (kills += 1) });
  await expect.poll(() => performance.now() - startedAt).toBeGreaterThan(deadlineMs + 50);
  expect(kills).toBe(0);
});

it("does nothing to a child that has exited, or never ran", async () => {
  const gone = await startChild("process.exit(3)");
  gone.kill("SIGTERM");
  await once(gone, "exit");
  let stops = 0;
  const stop = () => (stops += 1);
  await stopChild(gone, { deadlineMs: minuteMs, stop });
  const missingProgram = spawn("/nowhere/program");
  await once(missingProgram, "error");
  await stopChild(missingProgram, { deadlineMs: minuteMs, stop });
  expect(stops).toBe(0);
});
