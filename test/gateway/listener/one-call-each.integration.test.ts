import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { createConnectionBudget } from "#daemon/http/connections/connection-budget.ts";
import { findClientAddress } from "#daemon/http/proxies/client-address.ts";
import { finishedFlow } from "#gateway/responses/response-sink.ts";
import { identifyByAddress } from "#gateway/callers/identify.ts";
import { serveFastConnections } from "#gateway/listener/listener.ts";
import { httpErrors } from "#gateway/listener/http-errors.ts";
import { createPeerAddress } from "#gateway/listener/listeners.ts";
import { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import { createPolicy } from "#gateway/policy.ts";
import { testSettings } from "#gateway/testing/test-gateway.ts";
import { SharedTurns } from "#gateway/wire/shared-turns.ts";

const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
const connections = 30;
const trustedProxies = ["127.0.0.9"];

/**
 * The fast path with calls that take a millisecond each, on a simulated clock: `begun` lists the
 * callers of started calls. `connectFrom` opens a connection from an address, and returns a function that sends a call
 * over it for the client that a proxy names.
 */
async function startFastPath() {
  const begun: string[] = [];
  let now = 0;
  const client = findClientAddress({ trustedProxies, forwardedHops: 8 });
  const policy = createPolicy(testSettings());
  const budget = createConnectionBudget(
    { connections: 1_000, connectionsPerAddress: 1_000, newConnectionsPerAddress: 1_000, descriptorReserve: 0 },
    {
      descriptors: { limit: 2_000, used: () => 0 },
      memoryBytes: 2 ** 33,
      heapBytes: 2 ** 33,
      metrics: new Registry(),
      clock: () => now,
    },
  );
  const server = createServer();
  serveFastConnections(server, 60_000, {
    policy: () => policy,
    identify: identifyByAddress("public", "public", { client }),
    identifiesByAddress: true,
    handle: (_, { caller }, sink) => {
      begun.push(caller.key.replace("public ", ""));
      now += 1;
      sink.text("{}", "gateway");
      return finishedFlow;
    },
    turns: new SharedTurns({ now: () => now, later: setImmediate }),
    memory: new MemoryBudget(
      { totalBytes: 1e9, addressBytes: 1e9, connectionBytes: 1e9 },
      { cache: { bytes: () => 0, evict: () => undefined } },
    ),
    addressOf: createPeerAddress(client),
    bodies: { waitSeconds: () => undefined, rejected: () => undefined },
    isAllowedHost: () => true,
    rejections: { host: httpErrors.notFound, origin: httpErrors.notFound },
    ageHeaders: () => [],
    corsHeaders: () => [],
    drain: { hasBegun: false },
    connections: budget.listener({ name: "public" }),
  });
  const sockets: Socket[] = [];
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    begun,
    connectFrom: async (localAddress: string) => {
      const socket = connect({ host: "127.0.0.1", port, localAddress });
      sockets.push(socket);
      await once(socket, "connect");
      return async (forwardedFor?: string) => {
        const reported = forwardedFor === undefined ? "" : `X-Forwarded-For: ${forwardedFor}\r\n`;
        const answered = once(socket, "data");
        socket.write(
          `POST / HTTP/1.1\r\nHost: a\r\n${reported}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        );
        await answered;
      };
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      budget[Symbol.dispose]();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("calls that arrive at the same moment", () => {
  it("start round-robin by caller once a tick is used up, so that one caller's many connections do not precede another caller's only one", async () => {
    await using path = await startFastPath();
    const many = [];
    for (let at = 0; at < connections; at += 1) many.push(await path.connectFrom("127.0.0.2"));
    const other = await path.connectFrom("127.0.0.3");
    await Promise.all([...many, other].map((send) => send()));
    expect(path.begun).toHaveLength(connections + 1);
    expect(path.begun.indexOf("127.0.0.3")).toBeLessThan(connections / 2);
  });

  it("are distinguished by client address behind a proxy", async () => {
    await using path = await startFastPath();
    const sending = [];
    for (let at = 0; at <= connections; at += 1) sending.push(await path.connectFrom("127.0.0.9"));
    await Promise.all(sending.map((send, at) => send(at === connections ? "192.0.2.2" : "192.0.2.1")));
    expect(path.begun.indexOf("192.0.2.2")).toBeLessThan(connections / 2);
  });
});
