import { existsSync } from "node:fs";
import { readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { runResumeCommand } from "#sidecar/upkeep/control/resume-command.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { startUpkeepProcess } from "../support/upkeep-process.ts";
import {
  another,
  bad,
  startDesiredNode,
  half,
  replaceOps,
  patient,
  waitForRestarts,
  version,
} from "./restarts-at-night/desired-node.ts";

test("a writer that ends in the middle of node.conf while the node is restarted: what the node was to start with is put back, and no hold set", async () => {
  const { node, stateDirectory, good } = await startDesiredNode();
  await using _ = node;
  await writeFile(join(node.workspace, "half.conf"), half(good));
  const once = join(node.workspace, "once");
  const stop = await replaceOps(
    node,
    `if [ "$1" = stop ] && [ ! -e ${once} ]; then touch ${once}; ./ops-itself "$@"; cp ${node.workspace}/half.conf ${node.configPath}; exit 0; fi`,
  );
  await using upkeep = await runUpkeep(node, { ...patient, ...stop }, { stateDirectory });
  await upkeep.reason("NoRestartPending", "NoRestart");
  const proved = upkeep.events.list().filter(({ message }) => message.startsWith("The node is back")).length;
  await writeFile(node.configPath, another(good));
  await waitForRestarts(upkeep, proved + 1);
  await upkeep.reason("NoRestartPending", "NoRestart", 30_000);
  expect(await readFile(node.configPath, "utf8")).toBe(another(good));
  expect(upkeep.events.list().filter(({ kind }) => kind === "hold" || kind === "roll-back")).toEqual([]);
  expect(upkeep.events.list().map(({ message }) => message)).toContain(
    "node.conf became unusable while the node was restarted: what it was to start with is put back.",
  );
});

test("a hand edit that the node can't start with: it gets back what it ran with, although no sidecar had ever restarted it", async () => {
  const { node, good } = await startDesiredNode();
  await using _ = node;
  // State that knows nothing, as at the first contact.
  await using upkeep = await runUpkeep(node, { ...patient, GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "500" });
  // A look on a busy machine may be too coarse to tell; the next one comes half a minute later.
  const kept = await upkeep.reason("RollbackReady", "Ready");
  expect(kept.message).toBe(
    `A restart that fails is rolled back to what the node advanced with, ${join(upkeep.stateDirectory, "healthy.conf")}.`,
  );
  expect(upkeep.events.list().filter(({ kind }) => kind === "restart")).toEqual([]);
  await writeFile(node.configPath, bad(good));
  await readUntil(
    () => upkeep.board.get("NotPaused")?.message ?? "",
    (message) => message.includes("After one more restart it is back."),
    50_000,
  );
  expect(await readFile(node.configPath, "utf8")).toBe(good);
  await upkeep.reason("RpcResponding", "Responding");
});

test("a restart that failed, and what it went back to as well: resume tries it again once the cause is fixed, and says so", async () => {
  const { node, stateDirectory, good } = await startDesiredNode();
  await using _ = node;
  await using upkeep = await runUpkeep(node, patient, { stateDirectory });
  await upkeep.reason("NoRestartPending", "NoRestart");
  const key = resolve(
    dirname(node.configPath),
    (JSON.parse(good) as { chain: { secret_config: { domain_key_path: string } } }).chain.secret_config.domain_key_path,
  );
  await rename(key, `${key}.gone`);
  await writeFile(node.configPath, another(good));
  await readUntil(
    () => upkeep.board.get("NotPaused")?.message ?? "",
    (message) => message.includes("One more restart did not help"),
    50_000,
  );
  await upkeep.reason("RpcResponding", "ConnectionRefused");
  await rename(`${key}.gone`, key);
  const printed: string[] = [];
  const output = {
    out: (text: string) => printed.push(text),
    error: (text: string) => printed.push(text),
    isColored: false,
  };
  expect(await runResumeCommand({ kind: "socket", stateDirectories: [stateDirectory] }, output)).toBe(0);
  expect(printed.join("")).toMatch(
    /is lifted\. It was: .*\nWhat failed is tried again: a restart of the node \(.*\)\.\n$/s,
  );
  const running = await upkeep.reason("NoRestartPending", "Running");
  expect(running.message).toMatch(
    /^(Restarting the node: gatehouse resume was run, so what failed is tried again: |The node is being restarted)/,
  );
  await upkeep.reason("RpcResponding", "Responding", 30_000);
  await upkeep.reason("NoRestartPending", "NoRestart", 30_000);
  expect(upkeep.board.get("NotPaused")?.reason).toBe("NotPaused");
  expect(upkeep.events.list().map(({ message }) => message)).toContainEqual(
    expect.stringMatching(
      /^The hold is lifted: gatehouse resume was run\. What failed is tried again: a restart of the node/,
    ),
  );
  expect(upkeep.state.retry.get()).toBeUndefined();
});

test("a sidecar killed in the middle of a restart, node.conf left half written by another writer: the last good one is written, then the node started", async () => {
  const { node, stateDirectory, good } = await startDesiredNode();
  await using _ = node;
  const stopped = join(node.workspace, "stopped");
  const stop = await replaceOps(
    node,
    `if [ "$1" = stop ]; then ./ops-itself "$@"; touch ${stopped}; sleep 1; exit 0; fi`,
  );
  const killed = startUpkeepProcess(node, "ops", stop);
  await killed.right();
  await writeFile(node.configPath, another(good));
  await readUntil(() => existsSync(stopped), Boolean, 30_000);
  await killed.kill();
  const last = await readFile(node.configPath, "utf8");
  await writeFile(node.configPath, half(last));
  await using upkeep = await runUpkeep(
    node,
    { ...patient, ...stop, GATEHOUSE_SIDECAR_NODE_VERSION: version },
    { stateDirectory },
  );
  await upkeep.reason("RpcResponding", "Responding", 40_000);
  await upkeep.reason("NoRestartPending", "NoRestart", 40_000);
  expect(await readFile(node.configPath, "utf8")).toBe(last);
  expect(upkeep.board.get("NotPaused")?.reason).toBe("NotPaused");
  expect(upkeep.events.list().filter(({ kind }) => kind === "hold" || kind === "roll-back")).toEqual([]);
});

test.each([
  [
    "lint refuses",
    (text: string) => text.replace(/"http_port": "(\d+)"/, '"http_port": "$1x"'),
    /(?:node|pharos)\.conf:\d+:\d+ chain\.startup_config\.init_config\.http_port is "\d+x"; expected a port from 1 to 65535 as a string\. To fix it, write the port as a string, e\.g\. "18100"\./,
  ],
  [
    "names a key file that is not there",
    (text: string) => text.replace(/"domain_key_path": "([^"]*)"/, '"domain_key_path": "$1.typo"'),
    /chain\.secret_config\.domain_key_path: there is no file \S+\.typo\. Correct the path, or put the file there\./,
  ],
])("a hand edit that %s does not take the node down", async (_, edit, words) => {
  const { node, good } = await startDesiredNode();
  await using _node = node;
  await using upkeep = await runUpkeep(node, patient);
  await upkeep.reason("NoRestartPending", "NoRestart");
  await upkeep.reason("ConfigReconciled", "Reconciled");
  await writeFile(node.configPath, edit(good));
  const { message } = await upkeep.reason("NoRestartPending", "EditRejected");
  expect(message).toMatch(words);
  expect(message).toContain("The node runs on with what it has read. Correct node.conf;");
  expect(upkeep.board.get("RpcResponding")?.reason).toBe("Responding");
  await writeFile(node.configPath, good);
  await upkeep.reason("NoRestartPending", "NoRestart");
  expect(upkeep.events.list().filter(({ kind }) => kind === "restart")).toEqual([]);
});
