import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeNode, type FakeNode } from "../testing/fake-node.ts";
import { limitlessTier } from "../testing/limitless-tier.ts";
import { post, startTestGateway, until, type TestGateway } from "../testing/test-gateway.ts";

const requests = 300;
const resultBytes = 200_000;
const body = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}';
const request = `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Sends all requests at once and reads nothing. */
function connectDeafly(url: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on("error", () => socket.destroy());
  socket.pause();
  socket.write(request.repeat(requests));
  return socket;
}

/** Requests that were answered from the cache. */
async function answered({ metrics }: TestGateway): Promise<number> {
  const line = /^gatehouse_gateway_call_duration_seconds_count\{.*outcome="cache".*\} (\d+)$/m;
  return Number(line.exec(await metrics.metrics())?.[1] ?? 0);
}

/** Waits until something has been answered and then nothing more for a while. */
async function untilQuiet(gateway: TestGateway): Promise<number> {
  let seen = 0;
  let since = performance.now();
  await until("no more is answered", async () => {
    const now = await answered(gateway);
    if (now !== seen) since = performance.now();
    seen = now;
    return seen > 0 && performance.now() - since > 250;
  });
  return seen;
}

describe("a client that sends requests and reads no answers", () => {
  let node: FakeNode;
  beforeAll(async () => {
    node = await startFakeNode();
    node.answer(() => "z".repeat(resultBytes));
  });
  afterAll(() => node[Symbol.asyncDispose]());

  it("is not served further until it reads, and then gets every answer", async () => {
    await using gateway = await startTestGateway(node, { tiers: { public: limitlessTier } });
    await post(gateway.url, body);
    const socket = connectDeafly(gateway.url);
    expect(await untilQuiet(gateway)).toBeLessThan(requests / 2);
    let received = 0;
    socket.on("data", (bytes: Buffer) => (received += bytes.length));
    socket.resume();
    await until("the rest is answered", async () => (await answered(gateway)) === requests);
    await until("the answers are there", () => received > requests * resultBytes);
    socket.destroy();
  });

  it("is let go when it takes nothing for too long", async () => {
    await using gateway = await startTestGateway(node, {
      tiers: { public: limitlessTier },
      listener: { slowReaderTimeoutMs: 500, connections: 1 },
    });
    const socket = connectDeafly(gateway.url);
    await untilQuiet(gateway);
    const isServed = () =>
      post(gateway.url, body)
        .then(({ status }) => status === 200)
        .catch(() => false);
    await until("there is room for another connection", isServed);
    socket.destroy();
  });
});
