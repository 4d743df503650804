import { expect, test } from "vitest";
import { respondToRpc, serveNode } from "#sidecar/testing/watched-node.ts";
import { startFakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { runSidecar } from "../support/run-sidecar.ts";
import { readUntil } from "#daemon/testing/until.ts";

/** A reference endpoint whose height a test sets. */
async function startReference() {
  const state = { height: 0 };
  const node = await serveNode(respondToRpc({ eth_blockNumber: () => `0x${state.height.toString(16)}` }));
  return { ...node, setHeight: (height: number) => void (state.height = height) };
}

/** The sidecar of a node in this process, with the message for its gateway's callers. */
async function startSidecar(node: FakeNode, environment: Readonly<Record<string, string>>) {
  const runningSidecar = await runSidecar(node, {
    GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "50",
    ...environment,
  });
  const callGateway = async (method: string) => {
    const response = await fetch(runningSidecar.urls["gateway"]!, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: [] }),
    });
    const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } };
    return error?.message ?? result;
  };
  return {
    callGateway,
    /** Waits for a block, which may take longer on a busy machine than a gateway's callers wait. */
    waitForHeight: () =>
      readUntil(
        () => callGateway("eth_blockNumber"),
        (word) => height.test(String(word)),
      ),
    url: runningSidecar.urls["sidecar"]!,
    gateway: runningSidecar.urls["gateway"]!,
    [Symbol.asyncDispose]: () => runningSidecar[Symbol.asyncDispose](),
  };
}

const isBehind = "the node is behind the chain's head; try again later";
const isDown = "the node is not responding; try again later";
const isElsewhere = "the node is on another chain than this endpoint; try again later";
const height = /^0x[0-9a-f]+$/;

test("rejects calls immediately if the node stalls while its references advance, or if the node is down", async () => {
  await using node = await createFakeNode();
  await node.start();
  await using reference = await startReference();
  await using runningSidecar = await startSidecar(node, {
    GATEHOUSE_SIDECAR_HEALTH_STALE_AFTER_MS: "500",
    GATEHOUSE_SIDECAR_LAG_REFERENCES: reference.url,
    GATEHOUSE_SIDECAR_LAG_INTERVAL_MS: "50",
    // With this limit, the node never lags, but it is stalled if it receives no blocks.
    GATEHOUSE_SIDECAR_LAG_MAX_BLOCKS: "1000000000",
  });
  await runningSidecar.waitForHeight();
  await node.stall();
  reference.setHeight(1_000_000_000);
  await readUntil(
    () => runningSidecar.callGateway("eth_blockNumber"),
    (word) => word === isBehind,
  );
  expect(await runningSidecar.callGateway("eth_syncing")).toBe(false);
  expect(await runningSidecar.callGateway("eth_chainId")).toBe("0x688");
  await node[Symbol.asyncDispose]();
  await readUntil(
    () => runningSidecar.callGateway("eth_syncing"),
    (word) => word === isDown,
  );
});

test("serves calls to a node on an idle chain as long as no reference has a new block", async () => {
  await using node = await createFakeNode();
  await node.start();
  await using runningSidecar = await startSidecar(node, { GATEHOUSE_SIDECAR_HEALTH_STALE_AFTER_MS: "300" });
  const state = async (path: string) => {
    const response = await fetch(`${runningSidecar.url}${path}`);
    return { status: response.status, text: await response.text() };
  };
  await node.stall();
  await readUntil(
    async () => (await state("/status")).text,
    (text) => /"HeightAdvancing","title":"[^"]*","status":"(Unknown|False)","reason":"(Quiet|NoNewBlock)"/.test(text),
  );
  expect(await runningSidecar.callGateway("eth_blockNumber")).toMatch(height);
  expect((await state("/readyz")).text).toMatch(/"HeightAdvancing":\{"ok":true,"message":"[^"]*since \d{4}-\d\d-\d\dT/);
  expect((await state("/metrics")).text).toMatch(/gatehouse_node_height_unchanged_seconds [\d.]+/);
});

test("detects a replaced node at the next check, closes its subscriptions and rejects calls", async () => {
  await using workspace = await createFakeNode();
  await using node = await startFakeNode();
  let chainId = "0x688";
  node.respondAs(({ method }) => (method === "eth_chainId" ? chainId : "0x3e8"));
  await using running = await startSidecar(workspace, {
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
    GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: node.webSocketUrl,
    // The interval is so long that only the node's WebSocket, which reconnects, can trigger the check.
    GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "3600000",
  });
  expect(await running.callGateway("eth_gasPrice")).toBe("0x3e8");
  await using client = await connectTestClient(running.gateway);
  await readUntil(
    () => client.ask('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'),
    (response) => response.includes('"result"'),
  );
  chainId = "0x1";
  node.cutLink();
  expect((await client.closed)[0]).toBe(1012);
  expect(await running.callGateway("eth_sendRawTransaction")).toBe(isElsewhere);
  expect(node.requests.filter(({ method }) => method === "eth_sendRawTransaction")).toEqual([]);
});
