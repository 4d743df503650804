import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { startFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";

/** A state directory that version 0.1.0 left for a node whose node.conf it had corrected before a restart. */
type RecordedState = Readonly<{
  /** The node's version. */
  version: string;
  schemaVersion: number;
  schema: readonly string[];
  fact: Readonly<Record<string, unknown>>;
  restart: readonly Readonly<{ at_ms: number; reason: string; boot_id: string; boot_ms: number }>[];
  event: readonly Readonly<{ id: number; at_ms: number; kind: string; message: string; why: string | null }>[];
  nodeConf: string;
  healthyConf: string;
  lastGoodConf: string;
}>;

const recordedFile = await readFile(new URL("recorded/state-of-0.1.json", import.meta.url), "utf8");
const { states } = JSON.parse(recordedFile) as Readonly<{ states: readonly RecordedState[] }>;

/** Copies a recorded state next to a node, as if it had always belonged to that node. */
async function restoreState(state: RecordedState, { workspace }: FakeNode): Promise<void> {
  const directory = join(workspace, "state");
  await mkdir(directory);
  const placed = (value: unknown) =>
    JSON.stringify(value).replaceAll("{workspace}", workspace).replaceAll("{host}", hostname());
  using database = new DatabaseSync(join(directory, "upkeep.sqlite"));
  database.exec(`${state.schema.join(";")}; PRAGMA user_version = ${state.schemaVersion}`);
  const fact = database.prepare("INSERT INTO fact VALUES (?, ?)");
  for (const [name, value] of Object.entries(state.fact)) fact.run(name, placed(value));
  const restart = database.prepare("INSERT INTO restart (at_ms, reason, boot_id, boot_ms) VALUES (?, ?, ?, ?)");
  for (const { at_ms, reason, boot_id, boot_ms } of state.restart) restart.run(at_ms, reason, boot_id, boot_ms);
  const event = database.prepare("INSERT INTO event (id, at_ms, kind, message, why) VALUES (?, ?, ?, ?, ?)");
  for (const { id, at_ms, kind, message, why } of state.event) event.run(id, at_ms, kind, message, why);
  await writeFile(join(directory, "healthy.conf"), state.healthyConf);
  await writeFile(join(directory, "last-good.conf"), state.lastGoodConf);
}

/** Starts a node of the recorded version with the recorded node.conf and pruning on, as it was left. */
async function startRecordedNode({ version, nodeConf }: RecordedState): Promise<FakeNode> {
  const node = await startFakeNode(nodeConf);
  try {
    await node.stop();
    await node.install(version);
    await node.start();
    const enable = ["prune", "--c", node.configPath, "--enable_auto_prune"];
    await promisify(execFile)(node.programs.tool, enable, { cwd: node.binDirectory });
    return node;
  } catch (error) {
    await node[Symbol.asyncDispose]();
    throw error;
  }
}

const settingsOf = ({ version }: RecordedState) => ({
  GATEHOUSE_SIDECAR_NODE_VERSION: version,
  GATEHOUSE_SIDECAR_MONITOR_PUSH_PORT: "9292",
});

describe.each(states)("the state left by 0.1.0 for a node of $version", (state) => {
  test("loads without a restart, a correction or a warning", async () => {
    await using node = await startRecordedNode(state);
    await restoreState(state, node);
    const starts = await node.starts();
    await using upkeep = await runUpkeep(node, settingsOf(state));
    await upkeep.reason("ConfigReconciled", "Reconciled");
    await upkeep.reason("NoRestartPending", "NoRestart");
    await upkeep.reason("RollbackReady", "Ready");
    await upkeep.reason("Pruning", "Enabled");
    expect(upkeep.board.list().filter(({ status }) => status === "False")).toEqual([]);
    const acts = new Set(["write", "restart", "roll-back", "hold", "prune", "version"]);
    const kept = state.event.filter(({ kind }) => acts.has(kind)).map(({ message }) => message);
    const acted = upkeep.events.list().filter(({ kind }) => acts.has(kind));
    expect(acted.map(({ message }) => message).toSorted()).toEqual(kept.toSorted());
    expect(await upkeep.corrections()).toBe(0);
    expect(await node.starts()).toBe(starts);
    expect(await node.config()).toBe(state.nodeConf);
    expect(upkeep.state.startedWith.get()).toBe(state.fact["startedWith"]);
    expect(upkeep.state.healthy.get()).toEqual(state.fact["healthy"]);
  });

  test("still causes a restart for a node.conf that the node has not read", async () => {
    await using node = await startRecordedNode(state);
    await restoreState(state, node);
    const starts = await node.starts();
    await node.save(state.nodeConf.replace("12345678901234567890", "12345678901234567891"));
    await using upkeep = await runUpkeep(node, settingsOf(state));
    await readUntil(
      () => upkeep.events.list().filter(({ kind }) => kind === "restart"),
      (restarts) => restarts.filter(({ message }) => / and advances after \d+ ms\.$/.test(message)).length === 2,
    );
    expect(await node.starts()).toBe(starts + 1);
    expect(upkeep.state.nodeHas.get()).toMatch(/^2;/);
  });
});
