import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import { createConnectionBudget } from "#daemon/http/connections/connection-budget.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { SharedTurns } from "../wire/shared-turns.ts";
import { paceConnections } from "./listener.ts";

const limits = {
  connections: 100,
  connectionsPerAddress: 100,
  newConnectionsPerAddress: 100,
  descriptorReserve: 0,
};

test("a complete request that waits for its caller's turn is answered, even if its listener stops meanwhile", async () => {
  let now = 0;
  const waiting: (() => void)[] = [];
  const turns = new SharedTurns({ now: () => (now += 1), later: (run) => void waiting.push(run) });
  const budget = createConnectionBudget(limits, {
    descriptors: { limit: 1_000, used: () => 0 },
    memoryBytes: 2 ** 33,
    heapBytes: 2 ** 33,
    metrics: new Registry(),
    clock: () => 0,
  });
  onTestFinished(() => budget[Symbol.dispose]());
  const connections = budget.listener({ name: "public" });
  let requestCount = 0;
  const server = createServer((_, response) => {
    requestCount += 1;
    response.end("answered");
  });
  let lookups = 0;
  const addressOf = () => {
    lookups += 1;
    return "one caller";
  };
  paceConnections(server, { turns, addressOf, connections });
  connections.limit(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const send = () => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    return text(socket);
  };
  // A caller gets two requests served in one tick.
  const served = [await send(), await send()];
  const lookupsBefore = lookups;
  const late = send();
  await until("the third has arrived", generousMs, () => lookups > lookupsBefore);
  connections.closeIdle({ unfinished: true });
  expect(requestCount).toBe(2);
  for (const run of waiting.splice(0)) run();
  for (const response of [...served, await late]) expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*answered$/);
});
