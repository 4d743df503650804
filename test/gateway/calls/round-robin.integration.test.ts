import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { type FakeNode } from "#gateway/testing/fake-node.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { type TestGateway } from "#gateway/testing/test-gateway.ts";
import { useGateway } from "#gateway/testing/use-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { buildRequest, openRaw } from "../../support/gateway/raw-call.ts";

/** A call of an unknown method: the gateway responds by itself, but must read it. */
const noCall = `{"jsonrpc":"2.0","id":1,"method":"no_such","params":["${"x".repeat(500)}"]}`;
const receipts = (at: number) => `{"jsonrpc":"2.0","id":1,"method":"eth_getBlockReceipts","params":["0x${at}"]}`;
const calls = 12_000;
/**
 * Min number of the other caller's calls that get a response during the flood. Without round-robin, it was two to four, during half as many
 * calls.
 */
const fewest = 10;

async function connected(url: string, localAddress: string): Promise<Socket> {
  const { socket } = openRaw(url, "", { localAddress });
  await once(socket, "connect");
  return socket;
}

describe("calls from one caller, while another sends thousands at once", () => {
  let node: FakeNode;
  let gateway: TestGateway;
  useGateway(
    { tiers: { public: { ...limitlessTier, webSockets: 16 } } },
    (started) => void ({ node, gateway } = started),
  );

  /** Sends one call after the other until the flood has its responses; returns how many got a response before that. */
  const answeredBetween = async (isDone: () => boolean) => {
    const other = await connected(gateway.url, "127.0.0.2");
    let responses = 0;
    other.on("data", () => {
      if (isDone()) return;
      responses += 1;
      other.write(buildRequest(noCall));
    });
    other.write(buildRequest(noCall));
    await until("the flood has its responses", generousMs, isDone);
    other.destroy();
    return responses;
  };

  it("are answered between the other's pipelined requests", async () => {
    let answered = 0;
    const flood = await Promise.all(Array.from({ length: 4 }, () => connected(gateway.url, "127.0.0.1")));
    for (const socket of flood) {
      socket.on("data", (bytes) => (answered += bytes.toString("latin1").split("-32601").length - 1));
      socket.write(buildRequest(noCall).repeat(calls / 4));
    }
    expect(await answeredBetween(() => answered > calls * 0.98)).toBeGreaterThan(fewest);
    for (const socket of flood) socket.destroy();
  });

  it("are answered between the other's WebSocket messages, which keep their order", async () => {
    await using client = await connectTestClient(gateway.url, {}, { localAddress: "127.0.0.1" });
    for (let at = 0; at < calls; at += 1) client.socket.send(noCall.replace('"id":1,', `"id":${at},`));
    expect(await answeredBetween(() => client.texts.length === calls)).toBeGreaterThan(fewest);
    expect(client.texts.every((text, at) => text.includes(`"id":${at},`))).toBe(true);
  });

  it("are answered between the other's batches", async () => {
    // Enough that even a fast machine needs dozens of ticks.
    const batches = 24;
    let answered = 0;
    const batch = `[${Array.from({ length: 1_000 }, () => noCall).join(",")}]`;
    const flood = await Promise.all(Array.from({ length: batches }, () => connected(gateway.url, "127.0.0.1")));
    for (const socket of flood) {
      socket.on("data", (bytes) => (answered += bytes.toString("latin1").split("-32601").length - 1));
      socket.write(buildRequest(batch));
    }
    expect(await answeredBetween(() => answered > batches * 1_000 * 0.98)).toBeGreaterThan(fewest);
    for (const socket of flood) socket.destroy();
  });

  it("are answered between chunks of the other's long responses", async () => {
    node.respondAs(({ method }) => (method === "eth_getBlockReceipts" ? "z".repeat(8_000_000) : "0x1"));
    let bytes = 0;
    const flood = await Promise.all(Array.from({ length: 8 }, () => connected(gateway.url, "127.0.0.1")));
    for (const [at, socket] of flood.entries()) {
      socket.on("data", ({ length }) => (bytes += length));
      socket.write(buildRequest(receipts(at)));
    }
    expect(await answeredBetween(() => bytes > 64_000_000)).toBeGreaterThan(2 * fewest);
    for (const socket of flood) socket.destroy();
  });
});
