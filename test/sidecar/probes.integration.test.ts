import { chmod, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { runSidecar } from "../support/run-sidecar.ts";
import { readUntil } from "#daemon/testing/until.ts";

/**
 * A port that closes the connection of every request, over HTTP and WebSocket, until told to hang; from then on, it accepts requests but
 * never responds.
 */
async function hangingNode() {
  let asked = 0;
  let hangs = false;
  const count = ({ socket }: IncomingMessage) => {
    asked += 1;
    if (!hangs) socket.destroy();
  };
  const sockets = new Set<Socket>();
  const server = createServer(count).on("upgrade", count);
  server.on("connection", (socket) => sockets.add(socket));
  const local = await listenLocally(server);
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await local[Symbol.asyncDispose]();
  };
  return { port: local.port, asked: () => asked, hang: () => void (hangs = true), [Symbol.asyncDispose]: close };
}

const rounds = 20;

test("responds to every probe, without querying the node, while the node, node_cli and Pushgateway hang", async () => {
  await using files = await createFakeNode();
  await using node = await hangingNode();
  await writeFile(join(files.binDirectory, "node_cli"), "#!/bin/sh\nexec sleep 600\n");
  await chmod(join(files.binDirectory, "node_cli"), 0o755);
  await using runningSidecar = await runSidecar(files, {
    GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: `http://127.0.0.1:${node.port}`,
    GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: `ws://127.0.0.1:${node.port}`,
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "true",
    GATEHOUSE_SIDECAR_PUSHGATEWAY_URL: `http://127.0.0.1:${node.port}`,
    GATEHOUSE_SIDECAR_PUSHGATEWAY_TIMEOUT_MS: "600000",
    GATEHOUSE_SIDECAR_NODE_CLI_TIMEOUT_MS: "600000",
    // The first hanging request lasts for the whole test, so any other would come from a probe.
    GATEHOUSE_SIDECAR_HEALTH_TIMEOUT_MS: "600000",
  });
  const { urls } = runningSidecar;
  const status = async (path: string) => {
    const response = await fetch(`${urls["sidecar"]}${path}`);
    await response.arrayBuffer();
    return response.status;
  };
  await readUntil(
    () => status("/startupz"),
    (code) => code === 200,
  );
  const paths = ["/livez", "/readyz", "/startupz", "/status", "/"];
  const ask = () => Promise.all(paths.map(status));
  const closed = node.asked();
  node.hang();
  await readUntil(node.asked, (asked) => asked > closed);
  const requestsBefore = node.asked();
  for (let round = 0; round < rounds; round += 1) expect(await ask()).toEqual([200, 503, 200, 200, 200]);
  // There were five probes per round. The few requests to the node are the gateway's own checks.
  expect(node.asked() - requestsBefore).toBeLessThan(rounds);
});
