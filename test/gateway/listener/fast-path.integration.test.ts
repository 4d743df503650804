import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compareStreams } from "#gateway/testing/compared-streams.ts";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { sendRaw } from "#gateway/testing/raw-exchange.ts";
import { formatRequest } from "#gateway/testing/request-streams.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { buildRequest, openRaw } from "../../support/gateway/raw-call.ts";

/** Number of generated streams; `npm run test:long` sets more. */
const runs = Number(process.env["GATEHOUSE_FUZZ_RUNS"] ?? 240);
const atOnce = 60;
const shownEvery = 10_000;
/** The chain produces no block during the test, and the two gateways would report its age at different times. */
const dayMs = 86_400_000;

const call = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';
const syncingRequest = buildRequest('{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}');

describe("the fast path", () => {
  let node: FakeNode;
  let fast: TestGateway;
  let slow: TestGateway;
  beforeAll(async () => {
    node = await startFakeNode();
    const settings = {
      tiers: { public: limitlessTier },
      cache: { totalBytes: 0 },
      head: { tellAgeAfterMs: dayMs },
      callers: { corsOrigins: ["https://page.example"] },
      // Each stream has its own connection, and an idle machine opens far more connections per second than one address may.
      listener: { newConnectionsPerAddress: 10_000 },
    };
    fast = await startTestGateway(node, settings);
    slow = await startTestGateway(node, { ...settings, listener: { ...settings.listener, fastPath: false } });
  });
  afterAll(async () => {
    await fast[Symbol.asyncDispose]();
    await slow[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });

  it(
    "responds to any byte stream exactly as node:http does, except for the date",
    async () => {
      const seed = Number(process.env["GATEHOUSE_FUZZ_SEED"] ?? Date.now() % 2 ** 31);
      let seen = 0;
      await compareStreams({
        urls: [fast.url, slow.url],
        seed,
        runs,
        atOnce,
        compared: (stream, one, other) => {
          expect(one, `seed ${seed}, ${JSON.stringify(stream)}`).toBe(other);
          seen += 1;
          if (seen % shownEvery === 0) process.stdout.write(`${seen} streams give the same responses, seed ${seed}\n`);
        },
      });
      expect(seen).toBe(runs);
    },
    Math.max(120_000, runs * 40),
  );

  it("serves many requests on one connection, then one that only node:http can handle, then more", async () => {
    const commonRequest = formatRequest({
      line: "POST / HTTP/1.1",
      extra: [],
      body: call,
      newline: "\r\n",
      length: 0,
      type: true,
    });
    const chunked = `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${call.length.toString(16)}\r\n${call}\r\n0\r\n\r\n`;
    const pieces = [commonRequest, commonRequest, chunked, commonRequest, commonRequest].map((text) =>
      Buffer.from(text, "latin1"),
    );
    const text = await sendRaw(fast.url, pieces, { expected: 5, quietMs: 20 });
    expect(text.match(/"result":"0x0"/g)).toHaveLength(5);
  });

  it("reads only a little ahead in a client's pipeline, however many responses it has sent", async () => {
    node.respondAs(() => false);
    const requests = Buffer.from(syncingRequest.repeat(200_000));
    const { socket } = openRaw(fast.url, "");
    let responses = 0;
    const answered = new Promise<void>((resolve) => {
      socket.on("data", (bytes: Buffer) => {
        responses += bytes.toString("latin1").split("HTTP/1.1 200").length - 1;
        if (responses >= 600) resolve();
      });
    });
    for (let at = 0; at < requests.length; at += 65_536) socket.write(requests.subarray(at, at + 65_536));
    await answered;
    // The kernel buffers a few megabytes between the two.
    expect(socket.bytesWritten - socket.writableLength).toBeLessThan(15_000_000);
    socket.destroy();
  });

  it("closes a client that keeps sending without reading", async () => {
    await using impatient = await startTestGateway(node, { listener: { slowReaderTimeoutMs: 500 } });
    node.respondAs(() => "0x".padEnd(8_000_000, "0"));
    using client = openRaw(impatient.url, syncingRequest.repeat(4));
    client.socket.pause();
    const trickle = setInterval(() => client.socket.write("P"), 100);
    await until("it is closed", generousMs, client.isClosed);
    clearInterval(trickle);
  });
});
