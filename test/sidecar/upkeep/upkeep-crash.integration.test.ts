import { rename, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { expect, test } from "vitest";
import { startFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";

/** A start may take a quarter of an hour, but a node whose process has exited has only a second to come back. */
const patient = {
  GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "900000",
  GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "2500",
};

/**
 * A program in front of the node's own `ops`: its start exits with status 0, and its node exits half a second later.
 */
const crashesLate = ({ configPath, binDirectory, workspace }: FakeNode) => `#!/bin/sh
if [ "$1" = start ] && grep -q late-crash ${configPath}; then
  (cd ${binDirectory} && exec setsid sh -c 'sleep 1; : late') >/dev/null 2>&1 &
  echo $! > ${workspace}/node.pid
  exit 0
fi
exec ./ops-itself "$@"
`;

async function rolledBack(node: FakeNode, upkeep: RunningUpkeep): Promise<string> {
  await upkeep.restarted(2);
  const healthyConfig = await node.config();
  await writeFile(node.configPath, healthyConfig.replace("12345678901234567890", '"late-crash"'));
  const message = await upkeep.message("NotPaused", "It recovered after one more restart.");
  expect(await node.config()).toBe(healthyConfig);
  return message;
}

async function prependHandler(node: FakeNode, script: string): Promise<void> {
  const { ops } = node.programs;
  await rename(ops, `${ops}-itself`);
  await writeFile(ops, script, { mode: 0o755 });
}

test.concurrent("ops: rolls back a node that crashes after a start with status 0 as soon as its process is gone", async () => {
  await using node = await startFakeNode();
  await prependHandler(node, crashesLate(node));
  await using upkeep = await runUpkeep(node, patient);
  expect(await rolledBack(node, upkeep)).toContain("within 2500 ms of the restart: its process exited");
});

test.concurrent("compose: shows the docker compose ps output of a container that exited after its restart", async () => {
  await using node = await startFakeNode();
  await prependHandler(node, crashesLate(node));
  const pid = `$(cat ${node.workspace}/node.pid)`;
  const isGone = `grep -q late-crash ${node.configPath} && [ ${pid} -gt 0 ] && ! kill -0 ${pid} 2>/dev/null`;
  const compose = `case $0 in
    restart) ./ops stop --force; exec ./ops start --config ./${basename(node.configPath)} ;;
    ps) if ${isGone}; then echo '{"State":"exited"}'; else echo '{"State":"running"}'; fi ;;
  esac`;
  await using upkeep = await runUpkeep(node, {
    ...patient,
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "compose",
    GATEHOUSE_SIDECAR_COMPOSE_COMMAND: JSON.stringify(["sh", "-c", compose, "restart"]),
    GATEHOUSE_SIDECAR_COMPOSE_SERVICE: "node",
    GATEHOUSE_SIDECAR_COMPOSE_DIRECTORY: dirname(node.programs.ops),
  });
  expect(await rolledBack(node, upkeep)).toContain("within 2500 ms of the restart: its process exited");
});
