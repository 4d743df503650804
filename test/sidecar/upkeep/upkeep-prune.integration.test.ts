import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";

/** Installs a node_cli that always exits with status 0, and switches pruning on only once it is allowed to. */
async function refuseToPrune(node: FakeNode, complaint: string) {
  const place = (name: string) => join(node.workspace, name);
  const program = `#!/bin/sh
case "$*" in
  *--get) echo "enable_auto_prune: $(cat "${place("pruning")}" 2>/dev/null || echo 0)" ;;
  *--enable_auto_prune)
    echo x >> "${place("attempts")}"
    if [ -e "${place("may-prune")}" ]; then echo 1 > "${place("pruning")}"; else printf '%s' '${complaint}' >&2; fi ;;
esac
exit 0
`;
  await writeFile(node.programs.tool, program);
  return {
    attempts: async () => (await readFile(place("attempts"), "utf8")).trim().split("\n").length,
    permit: () => writeFile(place("may-prune"), ""),
  };
}

test("reports EnableFailed until it works if node_cli exits with status 0 and enables nothing", async () => {
  await using node = await startFakeNode();
  const tool = await refuseToPrune(node, "error: the node is busy");
  let skippedMs = 0;
  const clock = { monotonicMs: () => performance.now() + skippedMs, wallMs: Date.now };
  const env = {
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
    GATEHOUSE_SIDECAR_PRUNE_INTERVAL_MS: "60000",
  };
  await using upkeep = await runUpkeep(node, env, { clock });
  const switchedOn = () => upkeep.events.list().filter(({ message }) => message === "Auto-pruning was enabled.");
  expect(await upkeep.reason("Pruning", "EnableFailed")).toMatchObject({
    status: "False",
    message: `\`node_cli prune --c ${node.configPath} --enable_auto_prune\` exited with status 0, but enable_auto_prune is not 1; run it manually to see why. It said: error: the node is busy`,
  });
  expect([await tool.attempts(), switchedOn()]).toEqual([1, []]);
  await tool.permit();
  skippedMs = 60_000;
  await upkeep.reason("Pruning", "Enabled");
  expect(switchedOn()).toHaveLength(1);
});

test("queries node_cli again immediately after the node.conf that node_cli rejected is restored", async () => {
  await using node = await startFakeNode();
  const program = `#!/bin/sh
if grep -q rejected "${node.configPath}"; then echo "node.conf is broken" >&2; exit 1; fi
case "$*" in *--get) echo "enable_auto_prune: 1" ;; esac
`;
  await writeFile(node.programs.tool, program);
  const config = await node.config();
  await node.save(`${config}// rejected\n`);
  // The clock is stopped, so no backoff expires.
  const clock = { monotonicMs: () => 0, wallMs: Date.now };
  const env = { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2", GATEHOUSE_SIDECAR_RESTART_DRIVER: "none" };
  await using upkeep = await runUpkeep(node, env, { clock });
  await upkeep.reason("Pruning", "Failed");
  await node.save(config);
  await upkeep.reason("Pruning", "Enabled");
});
