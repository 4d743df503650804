import { describe, expect, test } from "vitest";
import { startServiceContainer } from "../support/engine/service-container.ts";
import { startUpkeepContainer } from "../support/engine/upkeep-container.ts";
import { createUniqueName, type TestContainer } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { until } from "#daemon/testing/until.ts";

const found = await findEngine();
const isLocal = found.ok && found.url.startsWith("unix://");
const notLocal = found.ok && !isLocal ? ` (skipped: ${found.url} is no socket that a container can be given)` : "";
const engine = found.ok ? found : { url: "", nodeImage: "" };

/** A devnet node in a container, whose workspace is in a volume that outlives it. */
async function startNode() {
  const volume = createUniqueName("workspace");
  await runDocker("volume", "create", volume);
  const [httpPort = 0, webSocketPort = 0] = await findFreePorts(2);
  const container = await startServiceContainer({
    image: engine.nodeImage,
    service: "devnet",
    options: ["--volume", `${volume}:/data`],
    env: {
      GATEHOUSE_DEVNET_WORKSPACE_DIRECTORY: "/data",
      GATEHOUSE_DEVNET_NODE_VERSION: "0.16.2",
      GATEHOUSE_DEVNET_NODE_HTTP_PORT: String(httpPort),
      GATEHOUSE_DEVNET_NODE_WEB_SOCKET_PORT: String(webSocketPort),
      GATEHOUSE_DEVNET_CHAIN_BLOCK_TIME_SECONDS: "0.5",
    },
  });
  const urls = { http: `http://127.0.0.1:${httpPort}`, webSocket: `ws://127.0.0.1:${webSocketPort}` };
  const dispose = async () => {
    await container[Symbol.asyncDispose]();
    await runDocker("volume", "rm", volume);
  };
  return { container, volume, urls, [Symbol.asyncDispose]: dispose };
}

const config = (node: TestContainer) => runDocker("exec", node.name, "cat", "/data/bin/node.conf");
const startedMs = async (node: TestContainer) => Date.parse(await node.inspect("{{.State.StartedAt}}"));

describe.skipIf(!isLocal)(`the reconciler for a node in a container${skipReason(found)}${notLocal}`, () => {
  test("corrects node.conf in a volume, runs node_cli and restarts the container", async () => {
    await using node = await startNode();
    const settings = {
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: "/data",
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.urls.http,
      GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: node.urls.webSocket,
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "docker",
      GATEHOUSE_SIDECAR_DOCKER_CONTAINER: node.container.name,
      GATEHOUSE_SIDECAR_DOCKER_STOP_TIMEOUT_SECONDS: "30",
      GATEHOUSE_SIDECAR_DOCKER_ENGINE: "unix:///engine.sock",
    };
    const socket = engine.url.slice("unix://".length);
    await using sidecar = await startUpkeepContainer(engine.nodeImage, settings, [
      `--volume=${node.volume}:/data`,
      `--volume=${socket}:/engine.sock`,
    ]);
    const isWell = async () => {
      await sidecar.reason("ConfigReconciled", "Reconciled");
      await sidecar.reason("NoRestartPending", "NoRestart");
      await sidecar.reason("HeightAdvancing", "Advancing");
      await sidecar.reason("Pruning", "Enabled");
      await sidecar.reason("VersionConsistent", "Consistent");
    };
    const comebacks = async () => {
      const { events } = await sidecar.status();
      return events.filter(({ message }) => message.startsWith("The node recovered and advances after")).length;
    };
    await isWell();
    const [first, atFirst] = [await config(node.container), await startedMs(node.container)];
    expect(first).toContain('"storage_enable_cetina": true');

    // Half a file: the last valid one is restored, and the node, which runs with it, is left alone.
    await runDocker("exec", node.container.name, "sh", "-c", `printf '{"chain": ' >/data/bin/node.conf`);
    await until("the last good one is back", 60_000, async () => (await config(node.container)) === first);
    expect(await startedMs(node.container)).toBe(atFirst);
    const before = await comebacks();

    // Another version's keys and another job name: they are migrated, and the changed name requires a restart.
    const edit =
      's/storage_enable_cetina/enable_pamir_cetina/; s/"storage_cetina_job_name": "[^"]*"/"storage_cetina_job_name": "node-7"/';
    await runDocker("exec", node.container.name, "sed", "-i", edit, "/data/bin/node.conf");
    await until("a restart that succeeded", 60_000, async () => (await comebacks()) > before);
    await isWell();
    const last = await config(node.container);
    expect(last).toContain('"storage_cetina_job_name": "node-7"');
    expect(last).not.toContain("pamir");
    expect(await startedMs(node.container)).toBeGreaterThan(atFirst);
    expect(await node.container.inspect("{{.RestartCount}} {{.State.Running}}")).toBe("0 true");
  });
});
