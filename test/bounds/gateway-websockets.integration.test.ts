import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { connectTestClient, type TestClient } from "#gateway/testing/test-client.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { isLong } from "../support/run-size.ts";
import { readErrorCode } from "../support/gateway/raw-call.ts";
import { holdReads, startSmallGateway, storage, type SmallGateway } from "../support/gateway/small-gateway.ts";

/** WebSockets of one listener; opening 10,000 takes a minute. */
const maxClients = isLong ? 10_000 : 600;
const wideTier = {
  requestsPerSecond: 1e6,
  requestBurst: 1e6,
  computeUnitsPerSecond: 1e8,
  computeUnitBurst: 1e8,
  concurrency: 48,
};

let gateway: SmallGateway;

beforeAll(async () => {
  gateway = await startSmallGateway(
    {},
    // The smallest heap that fits this many.
    {
      heapMiB: isLong ? 512 : 128,
      constants: { "webSocket.clients": maxClients, "webSocket.bridgeMs": 60_000 },
    },
  );
  await until("the gateway follows the node's heads", generousMs, () => gateway.node.subscriptions() === 1);
});
afterEach(async () => {
  await until(
    "no WebSocket is left",
    generousMs,
    async () => (await gateway.metric("gatehouse_gateway_websocket_clients")) === 0,
  );
  await gateway.expectOthersServed();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const subscribe = (params: readonly unknown[]) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params });
const subscribeOwn = (client: TestClient, at: number) =>
  client.ask(subscribe(["logs", { address: `0x${String(at).padStart(40, "0")}` }]));
const from = (address: string, url = gateway.url) => connectTestClient(url, { "X-Forwarded-For": address });
async function openAll(stack: AsyncDisposableStack, addresses: readonly string[], url?: string): Promise<TestClient[]> {
  const all: TestClient[] = [];
  for (let at = 0; at < addresses.length; at += 50) {
    const some = await Promise.all(addresses.slice(at, at + 50).map((address) => from(address, url)));
    for (const client of some) all.push(stack.use(client));
  }
  return all;
}

it("limits the concurrent calls per WebSocket client", async () => {
  await using wide = await startSmallGateway({
    GATEHOUSE_GATEWAY_TIERS: JSON.stringify({ public: { ...wideTier, concurrency: 1_000 } }),
  });
  const reads = holdReads(wide.node);
  await using client = await connectTestClient(wide.url);
  for (let id = 0; id < 200; id += 1) client.socket.send(storage(id));
  const underWay = () => wide.metric("gatehouse_gateway_calls_in_flight");
  await until("the limit of calls in flight is reached", generousMs, async () => (await underWay()) === 64);
  await wide.expectOthersServed();
  expect(await underWay()).toBe(64);
  reads.letGo();
  await until("all have a response", generousMs, () => client.texts.length === 200);
  expect(client.texts.every((text) => text.includes('"result":"0x1"'))).toBe(true);
});

it("limits the WebSockets per caller", async () => {
  await using stack = new AsyncDisposableStack();
  await openAll(
    stack,
    Array.from({ length: 16 }, () => "198.51.100.1"),
  );
  await expect(from("198.51.100.1")).rejects.toThrow("429");
  stack.use(await from("198.51.100.2"));
});

it("limits the subscriptions per WebSocket", async () => {
  await using client = await from("198.51.100.1");
  for (let made = 0; made < 64; made += 1) expect(await client.ask(subscribe(["newHeads"]))).toContain('"result":"0x');
  expect(readErrorCode(await client.ask(subscribe(["newHeads"])))).toBe(-32_005);
});

it("limits the distinct subscriptions at the node per caller", async () => {
  await using stack = new AsyncDisposableStack();
  const clients = await openAll(
    stack,
    Array.from({ length: 3 }, () => "198.51.100.1"),
  );
  for (let made = 0; made < 128; made += 1) {
    expect(await subscribeOwn(clients[made % 2]!, made)).toContain('"result":"0x');
  }
  expect(await subscribeOwn(clients[2]!, 128)).toContain("more than 128 different subscriptions for one caller");
  const other = stack.use(await from("198.51.100.2"));
  expect(await subscribeOwn(other, 128)).toContain('"result":"0x');
});

it("limits the distinct subscriptions at the node", async () => {
  await using stack = new AsyncDisposableStack();
  const clients = await openAll(
    stack,
    Array.from({ length: 16 }, (_, at) => `198.51.100.${Math.floor(at / 2)}`),
  );
  await Promise.all(
    clients.map(async (client, at) => {
      for (let made = 0; made < 64; made += 1) {
        expect(await subscribeOwn(client, at * 64 + made)).toContain('"result":"0x');
      }
    }),
  );
  const other = stack.use(await from("198.51.100.200"));
  const response = await subscribeOwn(other, 5_000);
  expect(readErrorCode(response)).toBe(-32_005);
  expect(response).toContain("too many different subscriptions; try again later");
  // All heads subscriptions share one.
  expect(await other.ask(subscribe(["newHeads"]))).toContain('"result":"0x');
  expect(gateway.node.subscriptions()).toBe(1_025);
});

const dropped = () => gateway.metric('gatehouse_gateway_websocket_drops_total{reason="slow"}');

it("limits the queued notification bytes per WebSocket client", async () => {
  await using stack = new AsyncDisposableStack();
  const [deaf, reader] = await openAll(stack, ["198.51.100.1", "198.51.100.2"]);
  const ask = subscribe(["logs", {}]);
  expect(await deaf!.ask(ask)).toContain('"result":"0x');
  expect(await reader!.ask(ask)).toContain('"result":"0x');
  deaf!.socket.pause();
  const data = `0x${"ab".repeat(50_000)}`;
  // A client that reads gets everything; for a client that does not, the kernel buffers a few MiB.
  let reported = 0;
  while ((await dropped()) === 0 && reported < 400) {
    for (let log = 0; log < 10; log += 1) gateway.node.newLog({ address: "0x1", data });
    reported += 10;
    await until("the reading client has it", generousMs, () => reader!.texts.length === reported + 1);
  }
  expect(await dropped()).toBe(1);
  expect(reported * data.length).toBeGreaterThan(4_194_304);
  deaf!.socket.resume();
  expect((await deaf!.closed)[0]).toBe(1013);
  expect(reader!.socket.readyState).toBe(reader!.socket.OPEN);
});

it("limits the blocks backfilled per subscriber", async () => {
  const { node } = gateway;
  const known = (number: number) =>
    until(
      "the head is known",
      generousMs,
      async () => (await gateway.metric("gatehouse_gateway_head_block_number")) === number,
    );
  const losesBlocks = async (missed: number, head: number) => {
    node.newHead(head);
    await known(head);
    const client = await from("198.51.100.1");
    expect(await client.ask(subscribe(["newHeads"]))).toContain('"result":"0x');
    node.takeLinks(false);
    node.cutLink();
    for (let number = head + 1; number <= head + missed; number += 1) node.newHead(number);
    node.takeLinks(true);
    return client;
  };
  await using reported = await losesBlocks(64, 2_000);
  await until("each subscriber has it", generousMs, () => reported.texts.length === 1 + 64);
  reported.socket.terminate();
  await using closed = await losesBlocks(65, 3_000);
  expect((await closed.closed)[0]).toBe(1012);
  await until("the gateway follows the node again", generousMs, () => node.subscriptions() === 1);
});

it("limits the WebSocket clients per listener", async () => {
  await using stack = new AsyncDisposableStack();
  const addresses = Array.from({ length: maxClients }, (_, at) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`);
  const clients = await openAll(stack, addresses);
  await expect(from("198.51.100.1")).rejects.toThrow("503");
  await gateway.expectOthersServed();
  expect(await clients[0]!.ask(storage(1))).toContain('"result"');
}, 240_000);
