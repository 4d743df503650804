import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { byHand, startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { createDeliveries } from "#gateway/testing/message-deliveries.ts";
import { createMessageSender } from "#gateway/testing/message-sender.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { call, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

/** Generated requests; a million in `npm run test:long`. */
const runs = Number(process.env["GATEHOUSE_FUZZ_RUNS"] ?? 600);
const seed = Number(process.env["GATEHOUSE_FUZZ_SEED"] ?? Date.now() % 2 ** 31);
const atOnce = 16;
const shownEvery = 50_000;
const batchItems = 20;

const tier = { ...limitlessTier, webSockets: 4_096, splitBlocks: 500 };

/** Answers of nodes: results of several kinds, and errors. */
const answers = [
  '"result":"0x1"',
  '"result":null',
  '"result":[]',
  '"result":[{"a":1}]',
  '"error":{"code":3,"message":"no"}',
];

describe("generated requests", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  beforeAll(async () => {
    node = await startFakeNode();
    let asked = 0;
    node.answer(({ raw }, response) => {
      asked += 1;
      const id = /"id":(.*?),"method"/.exec(raw)?.[1] ?? "null";
      response.end(`{"jsonrpc":"2.0","id":${id},${answers[asked % answers.length]}}`);
      node.requests.length = 0;
      return byHand;
    });
    // All come from one address, and faster than strangers may connect.
    const listener = { newConnectionsPerAddress: 1_000_000 };
    gateway = await startTestGateway(node, { tiers: { public: tier }, limits: { batchItems }, listener });
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });

  it(
    "are each answered once, with JSON-RPC, an HTTP error or the end of the connection, and leave nothing behind",
    async () => {
      const deliveries = createDeliveries(seed, runs);
      let seen = 0;
      const worker = async () => {
        await using sender = createMessageSender(gateway.url, batchItems);
        for (const delivery of deliveries) {
          const wrong = await sender.send(delivery).catch((error: unknown) => String(error));
          if (wrong !== undefined) {
            throw new Error(
              `seed ${seed}: ${wrong}: ${JSON.stringify({ ...delivery, body: delivery.body.toString("latin1") })}`,
            );
          }
          seen += 1;
          if (seen % shownEvery !== 0) continue;
          const megabytes = Math.round(process.memoryUsage().heapUsed / 1e6);
          process.stdout.write(`${seen} requests were answered, seed ${seed}, heap ${megabytes} MB\n`);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
      expect(seen).toBe(runs);
      for (const gauge of ["calls_in_flight", "calls_queued", "websocket_clients", "subscriptions"]) {
        const line = `\ngatehouse_gateway_${gauge} 0\n`;
        await until(`${gauge} is 0`, generousMs, async () => (await gateway.metrics.metrics()).includes(line));
      }
      expect(await call(gateway.url, "eth_coinbase")).toEqual({ jsonrpc: "2.0", id: 1, result: "0x0" });
    },
    Math.max(120_000, runs * 20),
  );
});
