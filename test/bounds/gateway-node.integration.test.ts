import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { connectTestClient, type TestClient } from "#gateway/testing/test-client.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { ask, openMany, openRaw, buildRequest, type RawClient } from "../support/gateway/raw-call.ts";
import {
  holdReads,
  startSmallGateway,
  storage,
  type HeldReads,
  type SmallGateway,
} from "../support/gateway/small-gateway.ts";

let gateway: SmallGateway;
let internal: string;
let reads: HeldReads;
/** Number of calls over separate connections so far, so that no two reads are equal. */
let opened = 0;

beforeAll(async () => {
  const env = {
    GATEHOUSE_GATEWAY_INTERNAL_ENABLED: "true",
    // Otherwise, the limit of 2,048 calls in flight would apply first.
    GATEHOUSE_GATEWAY_OVERLOAD_CALLS_IN_FLIGHT: "10000",
    // On a busy machine, the first calls would time out before the last ones have arrived.
    GATEHOUSE_GATEWAY_METHODS: '{ "eth_getStorageAt": { "timeoutMs": 60000 } }',
  };
  // Each call has its own connection.
  gateway = await startSmallGateway(env, { constants: { "listener.newConnectionsPerAddress": 100_000 } });
  internal = gateway.urls.internal;
});
beforeEach(() => {
  reads = holdReads(gateway.node);
});
afterEach(async () => {
  reads.letGo();
  await until(
    "no call is in flight",
    generousMs,
    async () => (await gateway.metric("gatehouse_gateway_calls_in_flight")) === 0,
  );
  await gateway.expectOthersServed();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const waiting = (calls: number) =>
  until(
    `${calls} calls wait`,
    generousMs,
    async () => (await gateway.metric("gatehouse_gateway_calls_queued")) === calls,
  );
/** Calls, each over its own connection, are sent in groups of at most this many, because a listener's backlog holds 511. */
const sentAtOnce = 256;
/**
 * Sends calls until exactly this many wait. The gateway's own check of the node briefly uses a connection: a call that arrives then may be
 * rejected, which leaves a slot free after the check.
 */
const fill = (calls: number, sent: () => number, rejected: () => number, send: (count: number) => void) =>
  until(`${calls} calls wait`, generousMs, async () => {
    const waits = await gateway.metric("gatehouse_gateway_calls_queued");
    const haveCome = waits + reads.held().length + rejected() === sent();
    if (waits < calls && haveCome) send(Math.min(sentAtOnce, calls - waits));
    return waits === calls;
  });
const account = (of: number) => `0x${String(of).padStart(40, "0")}`;
/** Calls by an operator's program that read this account, each over its own connection. */
const openCalls = (count: number, of: number) =>
  openMany(count, () => {
    opened += 1;
    return openRaw(internal, buildRequest(storage(opened, account(of))), { localAddress: `127.0.0.${of}` });
  });
const tooMany = '"code":-32005,"message":"rate limit exceeded: too many calls are queued; try again later"';

it("limits the connections to the node", async () => {
  const calls = Array.from({ length: 80 }, (_, at) => ask(gateway.url, storage(at), { address: `198.51.100.${at}` }));
  await until("the node has the max number of connections", generousMs, () => reads.held().length === 64);
  await waiting(16);
  reads.letGo();
  expect((await Promise.all(calls)).filter(({ text }) => text.includes('"result":"0x1"'))).toHaveLength(80);
});

it("limits the connections to the node per caller", async () => {
  using one = openCalls(150, 2);
  await waiting(101);
  expect(reads.held()).toHaveLength(49);
  // The next caller does not have to wait for the first caller's calls.
  using other = openCalls(1, 3);
  await until("another caller's call is at the node", generousMs, () => reads.held().includes(account(3)));
  expect([one.clients.length, other.clients.length]).toEqual([150, 1]);
});

it("limits the calls queued for the node", async () => {
  // Five programs, each with the max number of calls in flight on a WebSocket.
  const callsEach = 64;
  await using resources = new AsyncDisposableStack();
  const clients: TestClient[] = [];
  let sent = 0;
  const send = (client: TestClient, of: number) => {
    client.socket.send(storage(10_000 + sent, account(of)));
    sent += 1;
  };
  for (let at = 0; at < 65; at += 1) {
    const of = 2 + (at % 5);
    const client = resources.use(await connectTestClient(internal, {}, { localAddress: `127.0.0.${of}` }));
    clients.push(client);
    for (let call = 0; call < callsEach; call += 1) send(client, of);
  }
  const spare = resources.use(await connectTestClient(internal, {}, { localAddress: "127.0.0.2" }));
  clients.push(spare);
  const texts = () => clients.flatMap((client) => client.texts);
  const rejected = () => texts().filter((text) => text.includes(tooMany)).length;
  await fill(
    4_096,
    () => sent,
    rejected,
    (count) => {
      for (let at = 0; at < count; at += 1) send(spare, 2);
    },
  );
  expect((await ask(internal, storage(9_999), { localAddress: "127.0.0.2" })).text).toContain(tooMany);
  reads.letGo();
  await until("all have a response", generousMs, () => texts().length === sent);
  // Some connections are left free for the next caller.
  expect(rejected()).toBeLessThan(64);
  expect(texts().filter((text) => text.includes('"result":"0x1"')).length + rejected()).toBe(sent);
});

it("limits the calls queued for the node per caller", async () => {
  using resources = new DisposableStack();
  const clients: RawClient[] = [];
  const rejected = () => clients.filter((client) => client.received().includes(tooMany)).length;
  const send = (count: number) => clients.push(...resources.use(openCalls(count, 2)).clients);
  await fill(1_024, () => clients.length, rejected, send);
  expect((await ask(internal, storage(9_999), { localAddress: "127.0.0.2" })).text).toContain(tooMany);
  using other = openCalls(1, 3);
  await until("another caller's call is at the node", generousMs, () => reads.held().includes(account(3)));
  // The other calls are still queued: none was rejected to make room for another.
  expect(clients.filter((client) => client.received() === "")).toHaveLength(49 + 1_024);
  expect(other.clients).toHaveLength(1);
});

it("limits the connections to the node held by slow clients", async () => {
  const answerBytes = 10_000_000;
  // Data beyond the limit and beyond the kernel's buffers waits in the node's connection.
  await using held = await startSmallGateway({}, { constants: { "memory.connectionBytes": 200_000 } });
  held.node.respondAs(({ method }) => (method === "eth_getStorageAt" ? "z".repeat(answerBytes) : "0x1"));
  const openDeaf = (address: string, count: number, from: number) =>
    openMany(count, (at) => {
      const client = openRaw(held.url, buildRequest(storage(from + at), { address }));
      client.socket.pause();
      return client;
    });
  const untilHeld = (calls: number) =>
    until(`${calls} wait`, generousMs, async () => (await held.metric("gatehouse_gateway_calls_in_flight")) === calls);
  using few = openDeaf("198.51.100.201", 4, 0);
  await untilHeld(4);
  using many = openDeaf("198.51.100.202", 14, 10);
  await held.expectOthersServed();
  await untilHeld(16);
  for (const { socket } of [...few.clients, ...many.clients]) socket.resume();
  const whole = (clients: typeof few.clients) =>
    clients.filter(({ receivedBytes }) => receivedBytes() > answerBytes).length;
  const isDone = (clients: typeof few.clients) =>
    clients.every(({ receivedBytes, isClosed }) => isClosed() || receivedBytes() > answerBytes);
  await until(
    "each has everything, or was disconnected",
    generousMs,
    () => isDone(few.clients) && isDone(many.clients),
  );
  expect([whole(few.clients), whole(many.clients)]).toEqual([4, 12]);
  await held.expectOthersServed();
});
