import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runUpkeep, type RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";
import { readUntil } from "#daemon/testing/until.ts";

/** A start may take a quarter of an hour; a node whose process has ended has a second to come back. */
const patient = {
  GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "900000",
  GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "2500",
};

/** A program before the node's own `ops` whose start ends with status 0, and whose node ends half a second later. */
const crashesLate = `#!/bin/sh
if [ "$1" = start ] && grep -q late-crash node.conf; then
  setsid sh -c 'sleep 1; : late' >/dev/null 2>&1 &
  echo $! > ../node.pid
  exit 0
fi
exec ./ops-itself "$@"
`;

async function rolledBack(node: FakeNode, upkeep: RunningUpkeep): Promise<string> {
  await readUntil(node.starts, (starts) => starts === 2);
  await upkeep.reason("RestartSettled", "Idle");
  const healthy = await node.config();
  const beganMs = performance.now();
  await writeFile(node.configPath, healthy.replace("12345678901234567890", '"late-crash"'));
  const message = await readUntil(
    () => upkeep.board.get("Unheld")?.message ?? "",
    (text) => text.includes("After one more restart it is back."),
    40_000,
  );
  expect(performance.now() - beganMs).toBeLessThan(40_000);
  expect(await node.config()).toBe(healthy);
  return message;
}

async function putBefore(node: FakeNode, script: string): Promise<void> {
  const ops = join(node.binDirectory, "ops");
  await rename(ops, `${ops}-itself`);
  await writeFile(ops, script, { mode: 0o755 });
}

test.concurrent("ops: a node that crashes after a start that ended with status 0 is rolled back as soon as its process is gone", async () => {
  await using node = await startFakeNode();
  await putBefore(node, crashesLate);
  await using upkeep = await runUpkeep(node, patient);
  expect(await rolledBack(node, upkeep)).toContain("within 2500 ms after the restart: its process ended");
});

test.concurrent.each([
  ["a line for each container", (state: string) => `{"Service":"node","State":"${state}"}`],
  ["one array", (state: string) => `[{"Service":"node","State":"${state}"}]`],
])(
  "compose, which lists %s: a container that ended after its restart is shown by docker compose ps",
  async (_, list) => {
    await using node = await startFakeNode();
    await putBefore(node, crashesLate);
    const script = `if grep -q late-crash node.conf && [ $(cat ../node.pid) -gt 0 ] && ! kill -0 $(cat ../node.pid) 2>/dev/null; then echo '${list("exited")}'; else echo '${list("running")}'; fi`;
    await using upkeep = await runUpkeep(node, {
      ...patient,
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
      GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "compose",
      GATEHOUSE_SIDECAR_COMPOSE_COMMAND: JSON.stringify([
        "sh",
        "-c",
        "./ops stop --force; exec ./ops start --config ./node.conf",
      ]),
      GATEHOUSE_SIDECAR_COMPOSE_PS: JSON.stringify(["sh", "-c", script]),
      GATEHOUSE_SIDECAR_COMPOSE_SERVICE: "node",
      GATEHOUSE_SIDECAR_COMPOSE_DIRECTORY: node.binDirectory,
    });
    expect(await rolledBack(node, upkeep)).toContain("within 2500 ms after the restart: its process ended");
  },
);
