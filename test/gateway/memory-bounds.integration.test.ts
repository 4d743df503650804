import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "ws";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readMostResidentMiB } from "../support/resident-memory.ts";
import { isLong } from "../support/run-size.ts";
import { startService, type ServiceProcess } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { buildRequest, openRaw } from "../support/gateway/raw-call.ts";
import { startLargeResponseNode, type LargeResponseNode } from "./large-answer-node.ts";

/** Size of the old space of the process's heap, and the resulting memory limit for clients. */
const heapMiB = 128;
const totalBytes = 56 * 1_024 * 1_024;
/** Share of `totalBytes` that is added for clients that use little. */
const marginRatio = 1 / 8;
/** Memory limit of the process: that of a container of 512 MiB, minus memory outside the process. */
const mostMiB = 450;
const waitMs = generousMs;
/**
 * Max wait of another client's short call: milliseconds on a dedicated machine, seconds on one shared by many builds.
 */
const shortCallMs = 10_000;

const call = (id: unknown, method: string, params: readonly unknown[] = []) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });
const storage = (id: unknown, at: number) =>
  call(id, "eth_getStorageAt", [`0x${"ab".repeat(20)}`, `0x${at.toString(16)}`, "latest"]);

/** Number of calls whose responses exceed the limit several times. */
const batchCalls = isLong ? 100 : 20;

const batch = (first: number) =>
  `[${Array.from({ length: batchCalls }, (_, at) => storage(at, first + at)).join(",")}]`;

/** Sends a request as a proxy would for a client at this address, and reads nothing. */
function connectDeaf(url: string, address: string, body: string) {
  const client = openRaw(url, buildRequest(body, { address }));
  client.socket.pause();
  return client;
}

describe("the gateway with little memory", () => {
  let node: LargeResponseNode;
  let gateway: ServiceProcess;
  let url = "";
  let answerBytes = 0;
  const answerWith = (bytes: number) => {
    answerBytes = bytes;
    node.setAnswer(bytes);
  };

  beforeAll(async () => {
    node = await startLargeResponseNode();
    const env = {
      NODE_OPTIONS: `--max-old-space-size=${heapMiB}`,
      GATEHOUSE_GATEWAY_NODE_HTTP_URL: node.httpUrl,
      GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1",
      GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
      GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
      GATEHOUSE_GATEWAY_CALLERS_TRUSTED_PROXIES: "127.0.0.1",
      // The node shares this test's thread, so its response time does not matter here.
      GATEHOUSE_GATEWAY_HEALTH_TIMEOUT_MS: "20000",
    };
    // With the default message size, sixteen WebSockets of one address could not exceed the limit.
    const constants = { "listener.slowReaderTimeoutMs": 2_000, "webSocket.messageBytes": 5_000_000 };
    gateway = await startService("gateway", env, { constants });
    url = gateway.urls["gateway"] ?? "";
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });

  const askFrom = async (address: string, body: string) => {
    const headers = { "Content-Type": "application/json", "X-Forwarded-For": address };
    const response = await fetch(url, { method: "POST", body, headers });
    return response.text();
  };
  /** Reads the bytes reserved for clients, and those of the cache. */
  const readMemory = async () => {
    const text = await (await fetch(`${gateway.urls["operations"]}/metrics`)).text();
    const gauge = (name: string) => Number(new RegExp(`^gatehouse_gateway_${name}_bytes (\\d+)$`, "m").exec(text)?.[1]);
    return { held: gauge("buffered"), cached: gauge("cache") };
  };
  const heldBytes = async () => (await readMemory()).held;
  /** Expects that the same process responds quickly to another client's short calls, within its memory limit. */
  const expectOthersServed = async () => {
    for (let at = 0; at < 10; at += 1) {
      const startedAt = performance.now();
      const text = await askFrom("192.0.2.200", call(at, "eth_syncing"));
      expect(text).toBe(`{"jsonrpc":"2.0","id":${at},"result":false}`);
      expect(performance.now() - startedAt).toBeLessThan(shortCallMs);
      await delay(20);
    }
    expect(readMostResidentMiB(gateway.pid)).toBeLessThan(mostMiB);
  };
  const expectNothingHeld = () => until("no memory is held any more", waitMs, async () => (await heldBytes()) === 0);

  it("serves others while many clients do not read long responses, and disconnects those", async () => {
    // Longer than the kernel's buffers, which hold 4 MB or more on loopback.
    answerWith(5_000_000);
    const clients = Array.from({ length: isLong ? 100 : 40 }, (_, at) =>
      connectDeaf(url, `198.51.100.${at}`, storage(at, at)),
    );
    await until("responses wait", waitMs, async () => (await heldBytes()) > 10_000_000);
    await expectOthersServed();
    await expectNothingHeld();
    await until("all were disconnected", waitMs, () =>
      clients.every(({ socket }) => socket.destroyed || hasEnded(socket)),
    );
    for (const client of clients) client[Symbol.dispose]();
  });

  it("limits the memory held per address, while a different address still gets responses", async () => {
    answerWith(8_000_000);
    const clients = Array.from({ length: 20 }, (_, at) => connectDeaf(url, "198.51.100.1", storage(at, 1_000 + at)));
    await until("responses wait", waitMs, async () => (await heldBytes()) > 20_000_000);
    expect(await heldBytes()).toBeLessThan(45_000_000);
    const text = await askFrom("198.51.100.2", storage(1, 5_000));
    expect(text.length).toBeGreaterThan(8_000_000);
    await expectOthersServed();
    await expectNothingHeld();
    for (const client of clients) client[Symbol.dispose]();
  });

  it("rejects bodies beyond the memory limit with 503 and a Retry-After, and accepts those from a different address", async () => {
    // A new address, which owes nothing for earlier responses; otherwise, the rate limit would reject its requests by their headers.
    const begun = buildRequest("[", { address: "192.0.2.1" }).replace("Length: 1", "Length: 5000000");
    const clients = Array.from({ length: 40 }, () => openRaw(url, begun));
    for (const { socket } of clients) for (let part = 0; part < 49; part += 1) socket.write(Buffer.alloc(100_000, " "));
    await until("some are rejected", waitMs, () =>
      clients.some(({ received }) => received().includes("503 Service Unav")),
    );
    expect(clients.find(({ received }) => received() !== "")?.received()).toMatch(/Retry-After: 1\r\n/);
    await expectOthersServed();
    for (const client of clients) client[Symbol.dispose]();
    await expectNothingHeld();
  });

  it("serves batches of large responses within the limits, read or not", async () => {
    answerWith(2_000_000);
    const deaf = Array.from({ length: 6 }, (_, at) => connectDeaf(url, `198.51.100.${at}`, batch(10_000 + at * 100)));
    const text = await askFrom("198.51.100.50", batch(20_000));
    const entries = JSON.parse(text) as { id: number; result?: string; error?: { code: number } }[];
    expect(entries.map(({ id }) => id)).toEqual(Array.from({ length: batchCalls }, (_, at) => at));
    expect(entries.filter(({ result }) => result?.length === answerBytes).length).toBeGreaterThan(0);
    // The other calls exceed the limit of a batch's responses, or of a connection's memory.
    for (const { error } of entries) expect([undefined, -32_003, -32_005]).toContain(error?.code);
    await expectOthersServed();
    await expectNothingHeld();
    for (const client of deaf) client[Symbol.dispose]();
  });

  it("drops WebSocket clients that do not read long responses, or never finish a message", async () => {
    // A connection may hold one such response, and all of these clients one each: whichever of a client's responses are
    // rejected, one waits for it, mostly in the gateway, since the kernel's buffers take 4 MB. Their addresses owe
    // nothing for earlier responses; otherwise, the rate limit would reject them all.
    answerWith(10_000_000);
    const closed = new Map<WebSocket, number>();
    const open = async (address: string) => {
      const socket = new WebSocket(url.replace("http", "ws"), { headers: { "X-Forwarded-For": address } });
      socket.on("error", () => socket.terminate());
      socket.on("close", (code) => closed.set(socket, code));
      await once(socket, "open");
      return socket;
    };
    const readers = await Promise.all(Array.from({ length: 4 }, (_, at) => open(`192.0.2.${10 + at}`)));
    for (const [at, socket] of readers.entries()) {
      socket.pause();
      for (let id = 0; id < 4; id += 1) socket.send(storage(id, 30_000 + at * 4 + id));
    }
    await until("responses wait", waitMs, async () => (await heldBytes()) > 10_000_000);
    await expectOthersServed();
    await expectNothingHeld();
    const longest = new Map<WebSocket, number>();
    for (const socket of readers) {
      socket.on("message", (data: Buffer) => longest.set(socket, Math.max(longest.get(socket) ?? 0, data.length)));
      socket.resume();
    }
    await until("they are closed", waitMs, () => readers.every((socket) => closed.has(socket)));
    for (const socket of readers) expect(longest.get(socket) ?? 0).toBeLessThan(answerBytes);
    const talkers = await Promise.all(Array.from({ length: 16 }, () => open("198.51.100.60")));
    for (const socket of talkers) socket.send(" ".repeat(2_500_000), { fin: false });
    await until("some are closed", waitMs, () => talkers.some((socket) => closed.get(socket) === 1013));
    await expectOthersServed();
    for (const socket of talkers) socket.terminate();
    await expectNothingHeld();
  });

  it("does not buffer a response with an unusual id, whatever its length", async () => {
    answerWith(60_000_000);
    const odd = await askFrom("198.51.100.70", storage("<1>", 40_000));
    expect(odd.length).toBe(answerBytes + '{"jsonrpc":"2.0","id":"<1>","result":""}'.length);
    expect(odd.startsWith('{"jsonrpc":"2.0","id":"<1>","result":"z')).toBe(true);
    expect((await askFrom("198.51.100.70", storage(1, 40_001))).length).toBeGreaterThan(answerBytes);
    await expectOthersServed();
    await expectNothingHeld();
  });

  it("limits the memory held per connection and rejects the excess", async () => {
    // Each response fits alone, but a batch's responses don't fit together.
    answerWith(4_000_000);
    const text = await askFrom("198.51.100.80", batch(50_000));
    const entries = JSON.parse(text) as { result?: string; error?: { code: number; data?: unknown } }[];
    const whole = entries.filter(({ result }) => result?.length === answerBytes);
    expect(whole.length).toBeGreaterThan(0);
    expect(whole.length * answerBytes).toBeLessThan(totalBytes);
    const deaf = connectDeaf(url, "198.51.100.81", batch(51_000));
    let most = 0;
    await until("it is disconnected", waitMs, async () => {
      const held = await heldBytes();
      most = Math.max(most, held);
      return most > answerBytes && held === 0;
    });
    expect(most).toBeLessThanOrEqual(totalBytes / 4);
    deaf[Symbol.dispose]();
    await expectOthersServed();
  });

  it("shrinks the cache under pressure, and leaks no memory in the end", async () => {
    answerWith(200_000);
    // Repeated reads are cached: up to three quarters of the total limit.
    const reads = Math.floor((0.75 * totalBytes) / answerBytes);
    for (let round = 0; round < 2; round += 1) {
      for (let at = 0; at < reads; at += 1) {
        const text = await askFrom(`203.0.113.${at % 200}`, storage(1, 2_000_000 + at));
        expect(text.length).toBeGreaterThan(answerBytes);
      }
    }
    const filled = await readMemory();
    expect(filled.cached).toBeGreaterThan(totalBytes / 2);
    answerWith(8_000_000);
    const deaf = Array.from({ length: isLong ? 40 : 20 }, (_, at) =>
      connectDeaf(url, `198.51.100.${100 + at}`, storage(at, 60_000 + at)),
    );
    await until("the cache shrinks in favour of responses", waitMs, async () => {
      const { held, cached } = await readMemory();
      expect(held + cached).toBeLessThanOrEqual(totalBytes * (1 + marginRatio));
      return cached < filled.cached - answerBytes && held > totalBytes / 4;
    });
    await expectOthersServed();
    for (const client of deaf) client[Symbol.dispose]();
    await expectNothingHeld();
    expect(await gateway.end("SIGTERM")).toBe(0);
  });
});

/** Returns whether the peer has closed, which is only detected once all data has been read. */
function hasEnded(socket: Socket): boolean {
  socket.resume();
  return socket.readableEnded || socket.destroyed;
}
