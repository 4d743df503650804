import { spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readUntil } from "#daemon/testing/until.ts";
import { createFakeNode, driftedConfig, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { findPharosProcesses } from "#sidecar/testing/fake-node-files.ts";

const profile = "pharos" as const;

/** Runs `ops` at the root of a node; returns its status. */
async function runOps(node: FakeNode, words: readonly string[], stdio: StdioOptions = "ignore") {
  const child = spawn(join(node.workspace, "ops"), words, { cwd: node.workspace, stdio });
  const [status] = (await once(child, "exit")) as [number | null];
  return { status, output: child.stdout };
}

const start = ["start", "--config", "./pharos.conf"];
const waitForCount = (node: FakeNode, count: number) =>
  readUntil(
    () => findPharosProcesses(node.workspace),
    ({ length }) => length === count,
  );

test.concurrent("ops start ends with status 0 although the node ends at once, and hands its output on to one that runs, which a closed one ends", async () => {
  await using node = await createFakeNode(driftedConfig.replace("12345678901234567890", '"crash"'), { profile });
  expect((await runOps(node, start)).status).toBe(0);
  await readUntil(node.starts, (starts) => starts === 1);
  await waitForCount(node, 0);
  await node.save(driftedConfig);
  const { status, output } = await runOps(node, start, ["ignore", "pipe", "ignore"]);
  expect(status).toBe(0);
  let printed = "";
  output?.setEncoding("utf8").on("data", (text: string) => (printed += text));
  await readUntil(
    () => printed,
    (text) => /block \d+\n/.test(text),
  );
  output?.destroy();
  await waitForCount(node, 0);
});

test.concurrent("ops stop signals every node of the machine and waits for none; one that is told to stop goes on for a while", async () => {
  const host = await mkdtemp(join(tmpdir(), "gatehouse-host-"));
  await using node = await createFakeNode(driftedConfig, { profile, host });
  await using neighbour = await createFakeNode(driftedConfig, { profile, host });
  await using elsewhere = await createFakeNode(driftedConfig, { profile });
  for (const each of [node, neighbour, elsewhere]) await each.start();
  expect((await runOps(node, ["stop"])).status).toBe(0);
  const answer = await fetch(node.httpUrl, { method: "POST", body: '{"id":1,"method":"eth_blockNumber"}' });
  expect(await answer.text()).toContain("0x");
  for (const each of [node, neighbour]) await waitForCount(each, 0);
  expect(await findPharosProcesses(elsewhere.workspace)).toHaveLength(1);
  await rm(host, { recursive: true });
});

test.concurrent("a second process on the same data ends, also for a while after the first was killed", async () => {
  await using node = await createFakeNode(driftedConfig, { profile });
  await writeFile(join(node.workspace, "lock-lingers-seconds"), "0.5");
  await node.start();
  const [first = 0] = await findPharosProcesses(node.workspace);
  const lockedOut = () => readFile(join(node.workspace, "locked-out.log"), "utf8").catch(() => "");
  await runOps(node, start);
  await readUntil(lockedOut, (text) => text === "x");
  expect(await findPharosProcesses(node.workspace)).toEqual([first]);
  process.kill(first, "SIGKILL");
  await waitForCount(node, 0);
  await runOps(node, start);
  await readUntil(lockedOut, (text) => text === "xx");
  await readUntil(
    async () => {
      await runOps(node, start);
      return node.starts();
    },
    (starts) => starts === 2,
  );
});
