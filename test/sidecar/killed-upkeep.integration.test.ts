import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFakeNode, driftedConfig, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { until } from "#sidecar/testing/until.ts";

const kills = Number(process.env["GATEHOUSE_TEST_KILLS"] ?? 5);
const seed = Number(process.env["GATEHOUSE_TEST_SEED"] ?? 1);

/** The real command in a process of its own. */
function startSidecar(node: FakeNode): ChildProcess {
  return spawn(process.execPath, [join(import.meta.dirname, "../../cli/gatehouse.ts"), "sidecar"], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    env: {
      ...process.env,
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
      GATEHOUSE_SIDECAR_NODE_CLI_RUNNER: "none",
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
      GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: join(node.workspace, "state"),
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "none",
      GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
      GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
    },
  });
}

/** A small generator of numbers from 0 to 1, so that a failure can be repeated by its seed. */
function random(from: number): () => number {
  let state = from;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

function right(text: string): boolean {
  return text.includes('"storage_cetina_job_name": "node-7"') && !text.includes("pamir");
}

test(`killed ${kills} times during corrections (seed ${seed}): the file is valid each time, and right in the end`, async () => {
  await using node = await createFakeNode();
  const next = random(seed);
  for (let round = 0; round < kills; round += 1) {
    const child = startSidecar(node);
    await once(child, "message");
    await until(node.config, right);
    await writeFile(node.configPath, driftedConfig);
    await new Promise((resolve) => setTimeout(resolve, next() * 60));
    child.kill("SIGKILL");
    await once(child, "exit");
    const text = await node.config();
    expect(text === driftedConfig || right(text), text).toBe(true);
  }
  const last = startSidecar(node);
  await until(node.config, right);
  last.kill("SIGTERM");
  await once(last, "exit");
}, 120_000);
