import { describe, expect, it, onTestFinished } from "vitest";
import { responseWritten, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient, type TestClient } from "#gateway/testing/test-client.ts";
import { startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { useGateway } from "#gateway/testing/use-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

type Notification = Readonly<{ params: { subscription: string; result: Record<string, unknown> } }>;

const request = (method: string, params: unknown = []) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const address = `0x${"ab".repeat(20)}`;

function log(block: number, index: number, fork = "0") {
  return {
    address,
    blockNumber: `0x${block.toString(16)}`,
    blockHash: hash(block, fork),
    logIndex: `0x${index.toString(16)}`,
    removed: false,
  };
}

function hash(block: number, fork = "0"): string {
  return `0x${fork.repeat(8)}${block.toString(16).padStart(56, "0")}`;
}

async function subscribe(client: TestClient, params: readonly unknown[]): Promise<string> {
  return (JSON.parse(await client.ask(request("eth_subscribe", params))) as { result: string }).result;
}

function reported({ texts }: TestClient, subscription: string): readonly Record<string, unknown>[] {
  return texts
    .filter((text) => text.includes(subscription) && text.includes("eth_subscription"))
    .map((text) => (JSON.parse(text) as Notification).params.result);
}

const summary = (logs: readonly Record<string, unknown>[]) =>
  logs.map(({ blockHash, logIndex, removed }) => [blockHash, logIndex, removed]);

describe("a gap in the node's WebSocket connection", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  useGateway({ webSocket: { reconnectMs: 50, bridgeMs: 5_000, bridgeBlocks: 8 } }, async (started) => {
    ({ node, gateway } = started);
    await until("the gateway follows the node's heads", generousMs, () => node.subscriptions() === 1);
    node.newHead(1_001, hash(1_001));
    await until("the head is known", generousMs, async () =>
      (await gateway.metrics.metrics()).includes("head_block_number 1001"),
    );
  });
  const gaps = async (outcome: string) =>
    (await gateway.metrics.metrics()).includes(`gatehouse_gateway_upstream_gaps_total{outcome="${outcome}"} 1`);
  /** Cuts the node's WebSocket, produces blocks that the gateway misses, and lets it reconnect. */
  const miss = (makeBlocks: () => void) => {
    node.takeLinks(false);
    node.cutLink();
    makeBlocks();
    node.takeLinks(true);
  };
  /** Does the same, and waits until the gap is bridged and a client has received this many heads. */
  const bridge = async (makeBlocks: () => void, client: TestClient, heads: string, count: number) => {
    miss(makeBlocks);
    await until("the gap is bridged", generousMs, () => gaps("bridged"));
    await until("the missed heads arrived", generousMs, () => reported(client, heads).length === count);
  };
  /** Two clients: one subscribes to heads and to the logs of an address, the other to the same logs. */
  const startClients = async () => {
    const one = await connectTestClient(gateway.url);
    const other = await connectTestClient(gateway.url);
    onTestFinished(() => [one, other].forEach(({ socket }) => socket.terminate()));
    const heads = await subscribe(one, ["newHeads"]);
    const logs = await subscribe(one, ["logs", { address }]);
    const equalLogs = await subscribe(other, ["logs", { address: address.toUpperCase().replace("0X", "0x") }]);
    return { one, other, heads, logs, equalLogs };
  };

  it("is bridged: missed heads and logs arrive in order, once, before the live ones", async () => {
    const { one, other, heads, logs, equalLogs } = await startClients();
    node.newHead(1_002, hash(1_002));
    node.newLog(log(1_002, 0));
    await until(
      "both have the live notifications",
      generousMs,
      () => reported(one, heads).length === 1 && reported(other, equalLogs).length === 1,
    );
    node.respondAs(({ method }) => (method === "eth_getLogs" ? [log(1_002, 0), log(1_002, 1), log(1_004, 0)] : "0x1"));
    await bridge(() => [1_003, 1_004].forEach((number) => node.newHead(number, hash(number))), one, heads, 3);
    node.newHead(1_005, hash(1_005));
    node.newLog(log(1_005, 0));
    await until(
      "the live ones arrive",
      generousMs,
      () => reported(one, heads).length === 4 && reported(other, equalLogs).length === 4,
    );
    expect(reported(one, heads).map(({ hash: own }) => own)).toEqual(
      [1_002, 1_003, 1_004, 1_005].map((at) => hash(at)),
    );
    const expected = [log(1_002, 0), log(1_002, 1), log(1_004, 0), log(1_005, 0)];
    expect([reported(one, logs), reported(other, equalLogs)]).toEqual([expected, expected]);
    const asked = node.requests.filter(({ method }) => method === "eth_getLogs");
    expect(asked.map(({ params }) => params)).toEqual([[{ fromBlock: "0x3ea", toBlock: "0x3ec", address }]]);
    expect(node.subscriptions()).toBe(2);
    for (const { socket } of [one, other]) expect(socket.readyState).toBe(socket.OPEN);
  });

  it("is bridged across a reorganization: orphaned logs are sent as removed, newest first", async () => {
    const { one, heads, logs } = await startClients();
    node.newHead(1_002, hash(1_002));
    node.newHead(1_003, hash(1_003));
    for (const entry of [log(1_002, 0), log(1_003, 0), log(1_003, 1)]) node.newLog(entry);
    await until("all came", generousMs, () => reported(one, heads).length === 2 && reported(one, logs).length === 3);
    node.respondAs(({ method }) => (method === "eth_getLogs" ? [log(1_002, 0), log(1_003, 0, "f")] : "0x1"));
    await bridge(() => [1_003, 1_004].forEach((number) => node.newHead(number, hash(number, "f"))), one, heads, 4);
    await until("all came", generousMs, () => reported(one, heads).length === 4 && reported(one, logs).length === 6);
    expect(
      reported(one, heads)
        .map(({ hash: own }) => own)
        .slice(2),
    ).toEqual([hash(1_003, "f"), hash(1_004, "f")]);
    expect(summary(reported(one, logs)).slice(3)).toEqual([
      [hash(1_003), "0x1", true],
      [hash(1_003), "0x0", true],
      [hash(1_003, "f"), "0x0", false],
    ]);
  });

  it("is bridged at the second attempt if the connection is lost during the first", async () => {
    const { one, heads, logs } = await startClients();
    node.newHead(1_002, hash(1_002));
    await until("the live one arrived", generousMs, () => reported(one, heads).length === 1);
    let finish: (() => void) | undefined;
    node.respondAs(({ id, method }, response) => {
      if (method !== "eth_getLogs" || finish !== undefined) return method === "eth_getLogs" ? [log(1_003, 0)] : "0x1";
      finish = () => response.end(`{"jsonrpc":"2.0","id":${String(id)},"result":[]}`);
      return responseWritten;
    });
    miss(() => node.newHead(1_003, hash(1_003)));
    await until("the first attempt waits for the logs", generousMs, () => finish !== undefined);
    node.cutLink();
    node.newHead(1_004, hash(1_004));
    await until("the gap is bridged", generousMs, () => gaps("bridged"));
    finish?.();
    node.newHead(1_005, hash(1_005));
    await until("the live one arrives", generousMs, () => reported(one, heads).length === 4);
    expect(reported(one, heads).map(({ hash: own }) => own)).toEqual(
      [1_002, 1_003, 1_004, 1_005].map((at) => hash(at)),
    );
    expect(reported(one, logs)).toEqual([log(1_003, 0)]);
  });

  it("is bridged for a client that subscribed before the gateway's first block, whose logs count as missed", async () => {
    await gateway[Symbol.asyncDispose]();
    gateway = await startTestGateway(node, { webSocket: { reconnectMs: 50, bridgeMs: 5_000, bridgeBlocks: 8 } });
    await until("the gateway follows the node's heads", generousMs, () => node.subscriptions() === 1);
    const { one, heads, logs } = await startClients();
    node.newHead(1_002, hash(1_002));
    await until("its head arrived, but none of its logs", generousMs, () => reported(one, heads).length === 1);
    node.respondAs(({ method }) => (method === "eth_getLogs" ? [log(1_002, 0), log(1_003, 0)] : "0x1"));
    await bridge(() => node.newHead(1_003, hash(1_003)), one, heads, 2);
    const asked = node.requests.filter(({ method }) => method === "eth_getLogs");
    expect(asked.map(({ params }) => params)).toEqual([[{ fromBlock: "0x3ea", toBlock: "0x3eb", address }]]);
    expect(reported(one, logs)).toEqual([log(1_002, 0), log(1_003, 0)]);
  });

  it("closes clients if too many blocks were missed, or none is known any more", async () => {
    const { one, other } = await startClients();
    miss(() => {
      for (let number = 1_002; number < 1_020; number += 1) node.newHead(number, hash(number));
    });
    expect([(await one.closed)[0], (await other.closed)[0]]).toEqual([1012, 1012]);
    expect(await gaps("closed")).toBe(true);
    await until("the gateway follows the node again", generousMs, () => node.subscriptions() === 1);
    await using again = await connectTestClient(gateway.url);
    const heads = await subscribe(again, ["newHeads"]);
    node.newHead(1_020, hash(1_020));
    await until("heads come", generousMs, () => reported(again, heads).length === 1);
  });

  it("closes clients if the connection stays lost, and rejects subscriptions while it is", async () => {
    await gateway[Symbol.asyncDispose]();
    gateway = await startTestGateway(node, { webSocket: { reconnectMs: 20, bridgeMs: 400 } });
    await until("the gateway follows the node's heads", generousMs, () => node.subscriptions() === 1);
    const { one, other } = await startClients();
    node.takeLinks(false);
    node.cutLink();
    await until("the subscriptions are closed", generousMs, () => node.subscriptions() === 0);
    await using late = await connectTestClient(gateway.url);
    expect(await late.ask(request("eth_subscribe", ["newHeads"]))).toContain("the node is not responding");
    expect([(await one.closed)[0], (await other.closed)[0]]).toEqual([1012, 1012]);
    node.takeLinks(true);
    await until("the gateway follows the node again", generousMs, () => node.subscriptions() === 1);
  });

  it("leaves no subscription at the node if its clients disconnect before it is bridged", async () => {
    const { one, other } = await startClients();
    node.takeLinks(false);
    node.cutLink();
    one.socket.terminate();
    other.socket.terminate();
    await Promise.all([one.closed, other.closed]);
    node.takeLinks(true);
    await until("the gap is bridged", generousMs, () => gaps("bridged"));
    await until("only the gateway's own is left", generousMs, () => node.subscriptions() === 1);
  });
});
