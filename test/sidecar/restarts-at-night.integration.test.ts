import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { until } from "#sidecar/testing/until.ts";
import { another, bad, desiredNode, half, ops, patient, restarted } from "./restarts-at-night/desired-node.ts";

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

test("a hand edit that the node can't start with: it gets back what it ran with, although no sidecar had ever restarted it", async () => {
  const { node, good } = await desiredNode();
  await using _ = node;
  // State that knows nothing, as at the first contact.
  await using upkeep = await runUpkeep(node, { ...patient, GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "500" });
  const kept = await upkeep.reason("RollBackReady", "Kept", 20_000);
  expect(kept.message).toBe(
    `A restart that fails is rolled back to what the node advanced with, ${join(upkeep.stateDirectory, "healthy.conf")}.`,
  );
  expect(upkeep.events.list().filter(({ kind }) => kind === "restart")).toEqual([]);
  await writeFile(node.configPath, bad(good));
  await until(
    () => upkeep.board.get("Unheld")?.message ?? "",
    (message) => message.includes("After one more restart it is back."),
    50_000,
  );
  expect(await readFile(node.configPath, "utf8")).toBe(good);
  await upkeep.reason("RpcAnswering", "Answering");
});
