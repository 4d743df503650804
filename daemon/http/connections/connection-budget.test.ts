import { createServer, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { createConnectionBudget, NewConnections } from "./connection-budget.ts";
import type { ListenerConnections } from "./listener-connections.ts";

/** Waits until a condition is true; on timeout, the error contains its code. */
const soon = (holds: () => boolean) => until(holds.toString(), generousMs, holds);

const resources: AsyncDisposableStack[] = [];
let now: number;
beforeEach(() => {
  now = 0;
  resources.push(new AsyncDisposableStack());
});
afterEach(() => resources.pop()?.disposeAsync());

function createBudget(
  limit: number,
  used: () => number,
  {
    memoryBytes = Number.POSITIVE_INFINITY,
    heapBytes = Number.POSITIVE_INFINITY,
    ...settings
  }: Readonly<Record<string, number>> = {},
) {
  const metrics = new Registry();
  const budget = createConnectionBudget(
    {
      connections: 20_000,
      connectionsPerAddress: 1_024,
      newConnectionsPerAddress: 300,
      descriptorReserve: 192,
      ...settings,
    },
    { descriptors: { limit, used }, memoryBytes, heapBytes, metrics, clock: () => now },
  );
  resources.at(-1)?.use(budget);
  return Object.assign(budget, { metrics });
}

/** A server with limited connections, whose responses are sent by the test. */
async function serve(connections: ListenerConnections, isProxy: (address: string) => boolean = () => false) {
  const server: Server = createServer((request, response) => {
    if (request.url === "/") response.end("ok");
  });
  connections.limitAddresses(server, isProxy);
  connections.limit(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  resources.at(-1)?.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** A connection, the data received over it, and whether the server has closed it. */
function open(port: number, localAddress = "127.0.0.1") {
  const socket: Socket = connect({ port, host: "127.0.0.1", localAddress });
  resources.at(-1)?.defer(() => void socket.destroy());
  const seen = { text: "", isClosed: false };
  socket.on("data", (bytes: Buffer) => (seen.text += bytes.toString("latin1")));
  socket.on("error", () => socket.destroy());
  socket.on("close", () => (seen.isClosed = true));
  return Object.assign(seen, { ask: (path = "/") => socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`), socket });
}

async function requestResponse(port: number, localAddress?: string) {
  const connection = open(port, localAddress);
  connection.ask();
  await soon(() => connection.text.includes("200 OK"));
  return connection;
}

describe("the connection limit of a process", () => {
  test.each([
    ["excludes the reserve", 1_024, 40, 832],
    ["is a quarter of a low descriptor limit", 160, 40, 40],
    ["excludes other open descriptors and a margin", 160, 130, 14],
    ["is at least one", 160, 160, 1],
    ["is the setting if descriptors are unlimited", Number.POSITIVE_INFINITY, 40, 20_000],
  ])("%s", (_, limit, used, max) => {
    const budget = createBudget(limit, () => used);
    budget.listener({ name: "public" });
    expect(budget.state().max).toBe(max);
  });

  test.each([
    ["is a quarter of the memory at 40 KiB each", { memoryBytes: 536_870_912 }, 3_276, "memory"],
    [
      "is a third of the heap at 20 KiB each if that is fewer",
      { memoryBytes: 536_870_912, heapBytes: 100_663_296 },
      1_638,
      "memory",
    ],
    ["is the setting if memory suffices", { memoryBytes: 8_589_934_592 }, 20_000, "setting"],
    ["has a minimum, however little memory there is", { memoryBytes: 1_048_576 }, 64, "memory"],
  ])("%s", (_, settings, max, bound) => {
    const budget = createBudget(1_048_576, () => 40, settings);
    budget.listener({ name: "public" });
    expect(budget.state()).toMatchObject({ max, bound });
  });

  test("a public listener leaves a quarter to the others, and the admin port is not counted", async () => {
    const budget = createBudget(32, () => 0);
    const anybody = await serve(budget.listener({ name: "public", leavesRoom: true }), () => true);
    const known = await serve(budget.listener({ name: "private" }), () => true);
    const operators = await serve(budget.operators(), () => true);
    expect(budget.state().max).toBe(8);
    for (let at = 0; at < 6; at += 1) open(anybody).ask("/busy");
    await soon(() => budget.state().open === 6);
    const rejectedSocket = open(anybody);
    await soon(() => rejectedSocket.isClosed);
    expect(rejectedSocket.text).toMatch(
      /^HTTP\/1\.1 503 Service Unavailable\r\n[^]*Retry-After: 1\r\n[^]*too many connections; retry later\n$/,
    );
    await requestResponse(known);
    for (let at = 0; at < 4; at += 1) await requestResponse(operators);
    expect(budget.state()).toMatchObject({ open: 7, fullForMs: 0 });
  });
});

describe("connections closed when slots run out", () => {
  test("are first those without a request, then the longest idle, and never one in use", async () => {
    const budget = createBudget(16, () => 0);
    const port = await serve(budget.listener({ name: "public" }), () => true);
    const [busy, first] = [open(port), await requestResponse(port)];
    busy.ask("/busy");
    now = 10;
    const secondResponse = await requestResponse(port);
    const silentSocket = open(port);
    await soon(() => budget.state().open === 4);
    now = 2_000;
    await requestResponse(port);
    await soon(() => silentSocket.isClosed);
    await requestResponse(port);
    await soon(() => first.isClosed);
    expect([busy.isClosed, secondResponse.isClosed]).toEqual([false, false]);
    expect(await budget.metrics.metrics()).toContain('gatehouse_connections_shed_total{listener="public"} 2');
  });

  test("include an incomplete request, which gets a 408", async () => {
    const budget = createBudget(4, () => 0);
    const port = await serve(budget.listener({ name: "public" }), () => true);
    const slow = open(port);
    slow.socket.write("POST /busy HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    await soon(() => budget.state().open === 1 && slow.socket.bytesWritten > 0);
    const rejected = open(port);
    await soon(() => rejected.isClosed);
    now = 4_000;
    await requestResponse(port);
    await soon(() => slow.isClosed);
    expect(slow.text).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("include one from an address over its share, immediately, for an address without any", async () => {
    const budget = createBudget(32, () => 0, { connectionsPerAddress: 1_024 });
    const port = await serve(budget.listener({ name: "public" }));
    for (const address of ["127.0.2.1", "127.0.2.2"]) for (let at = 0; at < 4; at += 1) open(port, address);
    await soon(() => budget.state().open === 8);
    await requestResponse(port, "127.0.2.3");
    expect(budget.state().open).toBe(8);
  });
});

describe("an address", () => {
  test("gets a new connection in exchange for its own idle one", async () => {
    const budget = createBudget(1_024, () => 0, { connectionsPerAddress: 1 });
    const port = await serve(budget.listener({ name: "public" }));
    const first = await requestResponse(port);
    await requestResponse(port);
    await soon(() => first.isClosed);
  });

  test("is limited to the configured number if all are busy; a proxy is not limited", async () => {
    const budget = createBudget(1_024, () => 0, { connectionsPerAddress: 2 });
    const port = await serve(budget.listener({ name: "public" }), (address) => address === "127.0.2.9");
    const held = [open(port, "127.0.2.1"), open(port, "127.0.2.1")];
    for (const { ask } of held) ask("/busy");
    await soon(() => budget.state().open === 2);
    const third = open(port, "127.0.2.1");
    await soon(() => third.isClosed);
    expect(third.text).toMatch(/^HTTP\/1\.1 429 [^]*too many connections from this address; close some first\n$/);
    for (const address of ["127.0.2.2", "127.0.2.9", "127.0.2.9", "127.0.2.9"]) await requestResponse(port, address);
    held[0]?.socket.destroy();
    await soon(() => budget.state().open === 5);
    await requestResponse(port, "127.0.2.1");
    const rejectedMetric = 'gatehouse_connections_rejected_total{listener="public",reason="address"} 1';
    expect(await budget.metrics.metrics()).toContain(rejectedMetric);
  });
});

const times = (count: number, made: () => boolean) => Array.from({ length: count }, made).filter(Boolean).length;

test("an address may open its burst at once, then its rate; other addresses have their own", () => {
  let nowMs = 0;
  const made = new NewConnections({ perSecond: 100, burst: 300 }, () => nowMs);
  expect(times(1_000, () => made.mayOpen("a"))).toBe(300);
  expect(made.mayOpen("b")).toBe(true);
  nowMs += 100;
  expect(times(1_000, () => made.mayOpen("a"))).toBe(10);
  nowMs += 60_000;
  expect(times(1_000, () => made.mayOpen("a"))).toBe(300);
});

test("the latest hundred thousand addresses are tracked", () => {
  const made = new NewConnections({ perSecond: 1, burst: 3 }, () => 0);
  times(3, () => made.mayOpen("first"));
  expect(made.mayOpen("first")).toBe(false);
  for (let at = 0; at < 100_000; at += 1) made.mayOpen(String(at));
  times(3, () => made.mayOpen("last"));
  expect([made.mayOpen("first"), made.mayOpen("last")]).toEqual([true, false]);
});
