import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";
import { expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { createLog } from "#daemon/log/log.ts";
import { NodeLink } from "#gateway/upstream/node-link.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const timeoutMs = 200;

function linkTo(port: number, reconnectMs = 10) {
  const lines: string[] = [];
  const log = createLog({ service: "test", level: "info" }, { write: (line) => void lines.push(line) });
  const events = { opened: () => undefined, lost: () => undefined, notified: () => undefined };
  const options = { url: `ws://127.0.0.1:${port}`, reconnectMs, reconnectMaxMs: reconnectMs * 2, timeoutMs };
  return { lines, link: new NodeLink(options, { events, log, random: () => 0.5 }) };
}

it("a link in a blocked process accepts a handshake response that arrived during the block", async () => {
  await using server = new AsyncDisposableStack();
  const sockets = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  server.defer(() => sockets.close());
  await once(sockets, "listening");
  let connections = 0;
  sockets.on("connection", () => {
    connections += 1;
  });
  const { link, lines } = linkTo((sockets.address() as AddressInfo).port);
  using _ = link;
  const end = performance.now() + 2 * timeoutMs;
  while (performance.now() < end);
  await until("it is open", generousMs, () => link.isOpen);
  expect([connections, lines.filter((line) => line.includes("can't connect"))]).toEqual([1, []]);
});

it("a link abandons a handshake without a response, logs that once, and retries", async () => {
  await using resources = new AsyncDisposableStack();
  const sockets: Socket[] = [];
  const silentServer = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.resume();
    sockets.push(socket);
  });
  silentServer.listen(0, "127.0.0.1");
  await once(silentServer, "listening");
  resources.defer(() => {
    for (const socket of sockets) socket.destroy();
    silentServer.close();
  });
  const { link, lines } = linkTo((silentServer.address() as AddressInfo).port);
  using _ = link;
  await until("it tried three times", generousMs, () => sockets.length === 3);
  const reportedLines = lines.filter((line) => line.includes("can't connect"));
  expect(reportedLines).toHaveLength(1);
  expect(reportedLines[0]).toContain("no response to the handshake within 200 ms");
});

it("a disposed link never connects again, even if a poll then reaches the node", async () => {
  await using resources = new AsyncDisposableStack();
  let connections = 0;
  const closing = createServer((socket) => {
    connections += 1;
    socket.end();
  }).listen(0, "127.0.0.1");
  resources.defer(() => void closing.close());
  await once(closing, "listening");
  const { port } = closing.address() as AddressInfo;
  const { link, lines } = linkTo(port, 3_600_000);
  await until("the next attempt is scheduled", generousMs, () => lines.length === 1);
  link[Symbol.dispose]();
  link.retryNow();
  await once(connect(port, "127.0.0.1").resume(), "close");
  expect(connections).toBe(2);
});
