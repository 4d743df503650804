import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { post, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { openRaw } from "../../support/gateway/raw-call.ts";

const bodyBytes = 1_000_000;
/** Max bytes of one rejected body that are discarded. */
const hugeBytes = 16_777_216;

const lines = (address: string) => [`X-Forwarded-For: ${address}`];
const from = (address: string) => ({ "X-Forwarded-For": address });

/** Sends headers, and then nothing until a response arrives; returns all output until the connection is closed. */
async function announce(
  url: string,
  lengthBytes: number,
  { lines: ownLines = [], send = 0 }: Readonly<{ lines?: readonly string[]; send?: number }> = {},
): Promise<string> {
  const head = ["POST / HTTP/1.1", "Host: a", "Content-Type: application/json", `Content-Length: ${lengthBytes}`];
  const { socket, received } = openRaw(url, [...head, ...ownLines, "", ""].join("\r\n"));
  if (send === 0) await once(socket, "data");
  // Even a client that reads only after it has sent everything gets the response.
  else socket.write(Buffer.alloc(send, " "));
  const closed = once(socket, "close");
  socket.end();
  await closed;
  return received();
}

describe.each([true, false])("a long body (fast path: %s)", (fastPath) => {
  let node: FakeNode;
  let gateway: TestGateway;
  let closedGateway: TestGateway;
  beforeAll(async () => {
    node = await startFakeNode();
    const listener = { fastPath };
    // The compute units suffice for one body of 200 KiB; they take 401 s to refill.
    const tier = { ...limitlessTier, computeUnitsPerSecond: 1, computeUnitBurst: 401 };
    gateway = await startTestGateway(node, {
      tiers: { public: tier },
      limits: { bodyBytes },
      listener,
      callers: { trustedProxies: ["127.0.0.1"] },
    });
    closedGateway = await startTestGateway(node, {
      public: { enabled: false },
      private: { enabled: true },
      callers: { trustedProxies: ["127.0.0.1"] },
      listener,
    });
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await closedGateway[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });

  it("is rejected from its headers alone if it exceeds the limit; the response states the limit", async () => {
    const response = await announce(gateway.url, bodyBytes + 1);
    expect(response).toMatch(/^HTTP\/1\.1 413 /);
    expect(response).toContain(`content length too large; at most ${bodyBytes} bytes\n`);
    expect(response).toMatch(/^Connection: close\r$/m);
  });

  it("gets no 100 Continue if it would be rejected", async () => {
    const response = await announce(gateway.url, bodyBytes + 1, { lines: ["Expect: 100-continue"] });
    expect(response).toMatch(/^HTTP\/1\.1 413 /);
  });

  it("is rejected from its headers alone if its caller can't pay for it", async () => {
    const body = " ".repeat(200 * 1_024);
    expect((await post(gateway.url, body, from("9.9.9.1"))).status).toBe(200);
    const response = await announce(gateway.url, 100_000, { lines: lines("9.9.9.1") });
    expect(response).toMatch(/^HTTP\/1\.1 429 /);
    const seconds = Number(/^Retry-After: (\d+)\r$/m.exec(response)?.[1]);
    expect(seconds).toBeGreaterThan(100);
    expect(seconds).toBeLessThan(250);
    expect(response).toMatch(
      /\r\n\r\n\{"jsonrpc":"2\.0","id":null,"error":\{"code":-32005,"message":"rate limit exceeded; try again in \d+ s"\}\}$/,
    );
    expect(response).toMatch(/^Connection: close\r$/m);
    expect(await announce(gateway.url, 900_000, { lines: lines("9.9.9.1"), send: 900_000 })).toMatch(
      /^HTTP\/1\.1 429 /,
    );
    // Another caller has enough units for the same body.
    expect((await post(gateway.url, body, from("9.9.9.2"))).status).toBe(200);
    expect(await gateway.metrics.metrics()).toMatch(/gatehouse_gateway_limited_total\{limit="rate",tier="public"\} 2/);
  });

  it("is discarded at a rate that keeps the thread available, however many clients send one, and each client gets its response", async () => {
    const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${hugeBytes}\r\n\r\n`;
    const senders = Array.from({ length: 8 }, () => openRaw(gateway.url, head));
    const texts = senders.map(async ({ socket, received }) => {
      // Max bytes that can be accepted at the gateway's read rate.
      const part = Buffer.alloc(1_048_576, " ");
      const send = () => {
        if (socket.writable) socket.write(part, send);
      };
      send();
      // Not `once` of node:events: closing while data is in transit emits an error.
      await new Promise((resolve) => socket.once("close", resolve));
      return received();
    });
    for (const text of await Promise.all(texts)) expect(text).toMatch(/^HTTP\/1\.1 413 /);
    // More than the kernel buffers for a connection that isn't read.
    const takenBytes = senders.reduce((sum, { socket }) => sum + socket.bytesWritten, 0);
    expect(takenBytes).toBeLessThan(8 * hugeBytes);
  });

  it("is rejected by its head if its sender is not authorized", async () => {
    const response = await announce(closedGateway.urls["private"] ?? "", 100_000);
    expect(response).toMatch(/^HTTP\/1\.1 401 /);
    expect(response).toMatch(/^WWW-Authenticate: Bearer\r$/m);
  });
});
