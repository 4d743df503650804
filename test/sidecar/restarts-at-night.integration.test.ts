import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { until } from "#sidecar/testing/until.ts";
import { resumeCommand } from "#sidecar/upkeep/resume-command.ts";
import { startDevnetWorkspace, type DevnetWorkspace } from "../support/devnet-workspace.ts";
import { startUpkeepProcess } from "../support/upkeep-process.ts";

const version = "0.16.2";
const patient = {
  GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
  GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "20000",
  GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "20000",
  GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "60",
};

/** A devnet node whose node.conf is as desired, as a sidecar with state in `state` left it. */
async function desiredNode(environment: Readonly<Record<string, string>> = {}) {
  const node = await startDevnetWorkspace(version);
  const stateDirectory = join(node.workspace, "state");
  await using upkeep = await runUpkeep(node, { ...patient, ...environment }, { stateDirectory });
  await restarted(upkeep, 1);
  await upkeep.reason("RestartSettled", "Idle", 20_000);
  await upkeep.reason("ConfigCurrent", "AsDesired");
  return { node, stateDirectory, good: await readFile(node.configPath, "utf8") };
}

/** Waits until so many restarts were proved. */
async function restarted(upkeep: RunningUpkeep, count: number): Promise<void> {
  await until(
    () => upkeep.events.list().filter(({ message }) => message.startsWith("The node is back and advances after")),
    ({ length }) => length >= count,
    50_000,
  );
}

/** Puts a program before the node's own `ops`, which it finds as `./ops-itself`. */
async function ops(node: DevnetWorkspace, script: string): Promise<void> {
  const path = join(dirname(node.configPath), "ops");
  await rename(path, `${path}-itself`);
  await writeFile(path, `#!/bin/sh\n${script}\nexec ./ops-itself "$@"\n`, { mode: 0o755 });
}

/** A configuration that means something else to the node, which starts with it all the same. */
const another = (text: string) => text.replace('"mygrid_conf": {', '"mygrid_conf": { "changed": 1,');

const half = (text: string) => text.slice(0, Math.floor(text.length / 2));

test("a restart that failed, and what it went back to as well: resume tries it again once the cause is mended, and says so", async () => {
  const { node, stateDirectory, good } = await desiredNode();
  await using _ = node;
  await using upkeep = await runUpkeep(node, patient, { stateDirectory });
  await upkeep.reason("RestartSettled", "Idle");
  const key = resolve(
    dirname(node.configPath),
    (JSON.parse(good) as { chain: { secret_config: { domain_key_path: string } } }).chain.secret_config.domain_key_path,
  );
  await rename(key, `${key}.gone`);
  await writeFile(node.configPath, another(good));
  await until(
    () => upkeep.board.get("Unheld")?.message ?? "",
    (message) => message.includes("One more restart did not help"),
    50_000,
  );
  await upkeep.reason("RpcAnswering", "Refused");
  await rename(`${key}.gone`, key);
  const printed: string[] = [];
  const output = {
    out: (text: string) => printed.push(text),
    error: (text: string) => printed.push(text),
    isColored: false,
  };
  expect(await resumeCommand({ kind: "socket", stateDirectories: [stateDirectory] }, output)).toBe(0);
  expect(printed.join("")).toMatch(
    /is lifted\. It was: .*\nWhat failed is tried again: a restart of the node \(.*\)\.\n$/s,
  );
  const running = await upkeep.reason("RestartSettled", "Running");
  expect(running.message).toMatch(
    /^(Restarting the node: gatehouse resume was run, so what failed is tried again: |The node is being restarted)/,
  );
  await upkeep.reason("RpcAnswering", "Answering", 30_000);
  await upkeep.reason("RestartSettled", "Idle", 30_000);
  expect(upkeep.board.get("Unheld")?.reason).toBe("NoHold");
  expect(upkeep.events.list().map(({ message }) => message)).toContainEqual(
    expect.stringMatching(
      /^The hold is lifted: gatehouse resume was run\. What failed is tried again: a restart of the node/,
    ),
  );
  expect(upkeep.state.retry.get()).toBeUndefined();
});

test("a sidecar killed in the middle of a restart, node.conf left half written by another writer: the last good one is written, then the node started", async () => {
  const { node, stateDirectory, good } = await desiredNode();
  await using _ = node;
  const stopped = join(node.workspace, "stopped");
  await ops(node, `if [ "$1" = stop ]; then ./ops-itself "$@"; touch ${stopped}; sleep 3; exit 0; fi`);
  const killed = startUpkeepProcess(node, "ops");
  await killed.right();
  await writeFile(node.configPath, another(good));
  await until(() => existsSync(stopped), Boolean, 30_000);
  await killed.kill();
  const last = await readFile(node.configPath, "utf8");
  await writeFile(node.configPath, half(last));
  await using upkeep = await runUpkeep(
    node,
    { ...patient, GATEHOUSE_SIDECAR_NODE_VERSION: version },
    { stateDirectory },
  );
  await upkeep.reason("RpcAnswering", "Answering", 40_000);
  await upkeep.reason("RestartSettled", "Idle", 40_000);
  expect(await readFile(node.configPath, "utf8")).toBe(last);
  expect(upkeep.board.get("Unheld")?.reason).toBe("NoHold");
  expect(upkeep.events.list().filter(({ kind }) => kind === "hold" || kind === "roll-back")).toEqual([]);
});

test("a writer that ends in the middle of node.conf while the node is restarted: what the node was to start with is put back, and no hold set", async () => {
  const { node, stateDirectory, good } = await desiredNode();
  await using _ = node;
  await writeFile(join(node.workspace, "half.conf"), half(good));
  const once = join(node.workspace, "once");
  await ops(
    node,
    `if [ "$1" = stop ] && [ ! -e ${once} ]; then touch ${once}; ./ops-itself "$@"; cp ../half.conf node.conf; exit 0; fi`,
  );
  await using upkeep = await runUpkeep(node, patient, { stateDirectory });
  await upkeep.reason("RestartSettled", "Idle");
  const proved = upkeep.events.list().filter(({ message }) => message.startsWith("The node is back")).length;
  await writeFile(node.configPath, another(good));
  await restarted(upkeep, proved + 1);
  await upkeep.reason("RestartSettled", "Idle", 30_000);
  expect(await readFile(node.configPath, "utf8")).toBe(another(good));
  expect(upkeep.events.list().filter(({ kind }) => kind === "hold" || kind === "roll-back")).toEqual([]);
  expect(upkeep.events.list().map(({ message }) => message)).toContain(
    "node.conf became unusable while the node was restarted: what it was to start with is put back.",
  );
});
