import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createOpsNode, type OpsNode } from "#sidecar/testing/ops-node.ts";
import { runUpkeep } from "#sidecar/testing/run-upkeep.ts";

/**
 * Creates a fake systemctl next to a node: `stop` sends SIGTERM and returns once the unit's process has exited, `start`
 * starts it without the caller's environment and output, like systemd.
 */
async function writeSystemctl({ workspace, binDirectory, name }: OpsNode): Promise<string> {
  const path = join(workspace, "systemctl");
  const script = `#!/bin/sh
echo "$@" >>${workspace}/systemctl.log
cd ${binDirectory} || exit 1
pid=$(cat ../node.pid)
case $1 in
stop)
  kill -TERM "$pid"
  while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done ;;
start) env -i PATH="$PATH" setsid ./${name} node-process.cjs >/dev/null 2>&1 & ;;
esac
`;
  await writeFile(path, script, { mode: 0o755 });
  return path;
}

test("stops and starts a node in a systemd unit only through systemctl", async () => {
  await using node = await createOpsNode();
  await using neighbour = await node.addNeighbour();
  await node.exitsAfter(300);
  await Promise.all([node.start(), neighbour.start()]);
  const [before, others] = [await node.pid(), await neighbour.pid()];
  const systemctl = await writeSystemctl(node);
  const command = (verb: string) => JSON.stringify([systemctl, verb, "node.service"]);
  await using upkeep = await runUpkeep(node, {
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_OPS_STOP: command("stop"),
    GATEHOUSE_SIDECAR_OPS_START: command("start"),
  });
  await upkeep.restarted(2);
  expect(await readFile(join(node.workspace, "systemctl.log"), "utf8")).toBe("stop node.service\nstart node.service\n");
  expect(await node.pid()).not.toBe(before);
  expect(await neighbour.pid()).toBe(others);
  const said = upkeep.messages();
  expect(said.filter((message) => /by force|stopped by|process ID/.test(message))).toEqual([]);
  expect(await node.running()).toBe(await node.config());
});
