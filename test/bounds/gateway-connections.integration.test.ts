import { describe, expect, it } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { isLong } from "../support/run-size.ts";
import { ask, halfRequest, openMany, openRaw, buildRequest, type RawClient } from "../support/gateway/raw-call.ts";
import { holdReads, startSmallGateway, storage, type SmallGateway } from "../support/gateway/small-gateway.ts";

const call = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';

type Connected = SmallGateway &
  Readonly<{ open: (count: number, bytes: string, from?: Readonly<{ localAddress: string }>) => readonly RawClient[] }>;

async function startGateway(
  env: Readonly<Record<string, string>> = {},
  { listener, ...options }: Parameters<typeof startSmallGateway>[1] & Readonly<{ listener?: "operations" }> = {},
): Promise<Connected> {
  await using resources = new AsyncDisposableStack();
  const gateway = resources.use(await startSmallGateway(env, options));
  const url = listener === undefined ? gateway.url : gateway.urls[listener];
  const owned = resources.move();
  return {
    ...gateway,
    open: (count, bytes, from) => owned.use(openMany(count, () => openRaw(url, bytes, from))).clients,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const connectionsOf = (gateway: SmallGateway, listener: string) =>
  gateway.metric(`gatehouse_connections{listener="${listener}"}`);
const have = (gateway: SmallGateway, count: number, listener = "public") =>
  until(`${count} connections`, generousMs, async () => (await connectionsOf(gateway, listener)) === count);
const rejection = (client: RawClient) =>
  until("it has a response", generousMs, () => /^HTTP\/1\.1 (\d+)/.exec(client.received())?.[1]);

it("limits the client connections in total", async () => {
  await using gateway = await startGateway({}, { descriptors: 400 });
  const most = 400 - 192;
  const reads = holdReads(gateway.node);
  // Each has a call in flight, so none is closed in favour of another.
  const busy = Array.from({ length: most }, (_, at) =>
    openRaw(gateway.url, buildRequest(storage(at), { address: `198.51.100.${at}` })),
  );
  await have(gateway, most);
  expect(await rejection(gateway.open(1, buildRequest(call))[0]!)).toBe("503");
  expect((await fetch(`${gateway.urls.operations}/livez`)).status).toBe(200);
  reads.letGo();
  await until("all have a response", generousMs, () => busy.every(({ received }) => received().includes('"result"')));
  // They are idle now, and the first one is closed, because the gateway looks for idle ones again 100 ms after it found none.
  await until("a new client is served", generousMs, async () => {
    const { status } = await ask(gateway.url, call, { address: "198.51.100.250", isAlone: true });
    return status === 200;
  });
  await until("one is closed", generousMs, () => busy.some(({ isClosed }) => isClosed()));
  expect(busy.filter(({ isClosed }) => isClosed()).length).toBeLessThan(10);
  for (const client of busy) client[Symbol.dispose]();
  await gateway.expectOthersServed();
});

describe("a gateway with the machine's full descriptor limit", () => {
  it("limits the connections per listener", async () => {
    // As many as fit into the memory of a container of 512 MiB; half-sent requests take the most.
    const most = isLong ? 3_276 : 819;
    await using gateway = await startGateway(
      {
        GATEHOUSE_GATEWAY_LISTENER_CONNECTIONS: String(most),
        GATEHOUSE_GATEWAY_LISTENER_CONNECTIONS_PER_ADDRESS: "100000",
      },
      { constants: { "listener.newConnectionsPerAddress": 100_000 } },
    );
    const half = halfRequest.replace("100\r", "16000\r") + " ".repeat(15_000);
    for (const at of [2, 3, 4]) {
      gateway.open(Math.floor(most / 3), half, { localAddress: `127.0.0.${at}` });
      await until(
        "the connections are accepted",
        generousMs,
        async () => (await connectionsOf(gateway, "public")) >= (at - 1) * Math.floor(most / 3) - 50,
      );
    }
    // The oldest are closed for clients that send a request.
    for (let at = 0; at < 50; at += 1) {
      using other = openRaw(gateway.url, buildRequest(call), { localAddress: "127.0.0.9" });
      await until("the request is served", generousMs, () => other.received().startsWith("HTTP/1.1 200 "));
    }
    expect(await connectionsOf(gateway, "public")).toBeLessThanOrEqual(most);
    await gateway.expectOthersServed();
  });

  it("limits the connections per address (IPv6: /64)", async () => {
    await using gateway = await startGateway({}, { constants: { "listener.requestTimeoutMs": 60_000 } });
    const idle: RawClient[] = [];
    // In groups: a listener's backlog holds 511, and a connection that does not fit may never arrive.
    for (const count of [250, 500, 750, 1_000]) {
      idle.push(...gateway.open(250, "", { localAddress: "127.0.0.2" }));
      await have(gateway, count);
    }
    gateway.open(24, halfRequest, { localAddress: "127.0.0.2" });
    await have(gateway, 1_024);
    // The address's own idle connections are closed until it has none.
    await until("they are idle", generousMs, async () => {
      const [more] = gateway.open(1, buildRequest(call), { localAddress: "127.0.0.2" });
      return (await rejection(more!)) === "200";
    });
    await until("one is closed", generousMs, () => idle.some(({ isClosed }) => isClosed()));
    expect(await connectionsOf(gateway, "public")).toBeLessThanOrEqual(1_024);
    using other = openRaw(gateway.url, buildRequest(call), { localAddress: "127.0.0.3" });
    await until("another request is served", generousMs, () => other.received().startsWith("HTTP/1.1 200 "));
    await gateway.expectOthersServed();
  });

  it("limits the new connections per address (IPv6: /64)", async () => {
    await using gateway = await startGateway();
    const began = performance.now();
    let served = 0;
    const made = isLong ? 3_000 : 2_000;
    for (let at = 0; at < made; at += 100) {
      const some = gateway.open(100, buildRequest(call), { localAddress: "127.0.0.2" });
      await until("each gets a response or is closed", generousMs, () =>
        some.every(({ received, isClosed }) => isClosed() || received() !== ""),
      );
      served += some.filter(({ received }) => received().startsWith("HTTP/1.1 200 ")).length;
      for (const client of some) client[Symbol.dispose]();
    }
    const seconds = (performance.now() - began) / 1_000;
    const rejectedMetric = await gateway.metric(
      'gatehouse_connections_rejected_total{listener="public",reason="rate"}',
    );
    expect(served).toBeGreaterThanOrEqual(1_024);
    expect(served).toBeLessThanOrEqual(1_024 + 300 * seconds + 1);
    if (made > 1_024 + 300 * seconds) expect(rejectedMetric).toBe(made - served);
    await gateway.expectOthersServed();
  });
});

// The tests below mostly wait, each with its own gateway, so they run concurrently.

it.concurrent("limits the connections of the admin listener", async () => {
  await using gateway = await startGateway({}, { listener: "operations" });
  await have(gateway, 0, "public");
  gateway.open(32, "GET /livez HTTP/1.1\r\nHost: localhost\r\n");
  const statuses = async () => {
    const [more] = gateway.open(1, "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    return rejection(more!);
  };
  // Incomplete ones are closed within three seconds.
  expect(["200", "503"]).toContain(await statuses());
  await until("probes are answered", generousMs, async () => (await statuses()) === "200");
  expect(await connectionsOf(gateway, "operations")).toBeLessThanOrEqual(32);
  await gateway.expectOthersServed();
});

it.concurrent("limits the first bytes of a trusted proxy with `proxyProtocol`", async () => {
  const waitMs = isLong ? 5_000 : 3_000;
  await using gateway = await startGateway(
    {
      GATEHOUSE_GATEWAY_CALLERS_TRUSTED_PROXIES: "127.0.0.2",
      GATEHOUSE_GATEWAY_CALLERS_PROXY_PROTOCOL: "true",
    },
    { accelerated: { waits: 5_000 / waitMs } },
  );
  const began = performance.now();
  const [late] = gateway.open(1, "PROXY TCP4 1.2.3.4", { localAddress: "127.0.0.2" });
  const [long] = gateway.open(1, `PROXY TCP4 ${"1".repeat(100_000)}`, { localAddress: "127.0.0.2" });
  const firstClosed = await new Promise((resolve) => {
    for (const client of [late!, long!]) client.socket.once("close", () => resolve(client));
  });
  expect(firstClosed, "too many bytes end a connection before its time is up").toBe(long);
  const [whole] = gateway.open(1, `PROXY TCP4 198.51.100.7 127.0.0.1 1 2\r\n${buildRequest(call)}`, {
    localAddress: "127.0.0.2",
  });
  await until("a complete one is served", generousMs, () => whole!.received().startsWith("HTTP/1.1 200 "));
  await until("late ones are closed", generousMs, () => late!.isClosed());
  expect(performance.now() - began).toBeGreaterThan(waitMs - 100);
  expect([late!.received(), long!.received()]).toEqual(["", ""]);
  await gateway.expectOthersServed();
});
