import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { spawnStack, findStackPorts } from "../support/running-stack.ts";
import { findStackProcesses } from "../support/stack-processes.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const root = join(import.meta.dirname, "../..");
const isUp = "Ctrl-C stops everything.";

function family(pid: number): readonly number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(family)];
}

function runs(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

const readNodePid = (file: string) => (JSON.parse(readFileSync(file, "utf8")) as { pid: number }).pid;

async function npmStart() {
  const stateDirectory = mkdtempSync(join(tmpdir(), "gatehouse-npm-"));
  const { env } = await findStackPorts();
  const npm = spawn("npm", ["start", "--", "--state-dir", stateDirectory], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [npm.stdout, npm.stderr]) stream.on("data", (chunk: Buffer) => (output += String(chunk)));
  const pidFile = `${stateDirectory}/node/run/node.pid`;
  const listProcesses = () => {
    const roots = [npm.pid!, ...(existsSync(pidFile) ? [readNodePid(pidFile)] : [])];
    return roots.filter(runs).flatMap(family);
  };
  let processes: readonly number[] = [];
  onTestFinished(() => {
    for (const pid of new Set([...processes, ...listProcesses()])) if (runs(pid)) process.kill(pid, "SIGKILL");
    rmSync(stateDirectory, { recursive: true, force: true });
  });
  await until("npm start is up", 120_000, () => {
    if (npm.exitCode !== null) throw new Error("npm start ended");
    return output.includes(isUp);
  }).catch((error: unknown) => {
    throw new Error(`${(error as Error).message}; it printed:\n${output}`);
  });
  processes = listProcesses();
  return { npm, processes };
}

test.each(["SIGTERM", "SIGKILL"] as const)("%s to npm stops the stack, its services and its node", async (signal) => {
  const { npm, processes } = await npmStart();
  expect(processes.length).toBeGreaterThan(8);
  npm.kill(signal);
  await until("every process has ended", generousMs, () => !processes.some(runs));
});

test("Ctrl-C kills a node that does not stop in time, and reports it in one line", async () => {
  await using stack = await spawnStack();
  let errors = "";
  stack.process.stderr?.on("data", (chunk: Buffer) => (errors += String(chunk)));
  await until("the stack is up", 120_000, () => stack.output().includes(isUp));
  const [ops] = [join(stack.stateDirectory, "node/bin/ops")];
  rmSync(ops);
  writeFileSync(ops, "#!/bin/sh\nexec sleep 60\n");
  chmodSync(ops, 0o755);
  const processes = [...findStackProcesses(stack).values()];
  const closed = once(stack.process, "close");
  expect(await stack.stop()).toBe(1);
  await closed;
  expect(errors.trim()).toMatch(
    /^\.\/ops stop --force in \S+ did not exit within 3000 ms: .*; the node \(process \d+\) was killed\.$/,
  );
  await until("every process has ended", generousMs, () => !processes.some(runs));
});
