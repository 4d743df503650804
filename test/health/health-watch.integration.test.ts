import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { readNodeReadiness } from "#status/node-readiness.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import {
  respondToRpc,
  goodResponses as good,
  risingHeight as rising,
  serveNode as serve,
  watchNode as watch,
} from "#sidecar/testing/watched-node.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { createCertificateIssuer, hasOpenssl, withoutOpenssl } from "../support/certificates.ts";

const closing =
  (response: string): RequestListener =>
  (request) =>
    void request.socket.end(response);
const responding =
  (body: string): RequestListener =>
  (_, response) =>
    void response.end(body);

function readiness(board: ConditionBoard) {
  board.set({ type: "GatewayServing", status: "True", reason: "Serving", message: "The gateway serves." });
  return readNodeReadiness(board);
}

test("reports a healthy node as ready, in its metrics too", async () => {
  await using node = await serve(respondToRpc({ ...good, eth_blockNumber: rising }));
  await using health = watch(node.url);
  await health.words("HeightAdvancing", "Advancing");
  await health.words("ChainIdMatches", "Matches");
  expect(readiness(health.board).ready).toBe(true);
  expect(await health.metrics.metrics()).toMatch(/gatehouse_condition\{type="RpcResponding"\} 1/);
});

test("reports an RPC that refuses connections", async () => {
  const { url, ...server } = await serve(respondToRpc(good));
  await server[Symbol.asyncDispose]();
  await using health = watch(url);
  expect(await health.words("RpcResponding", "ConnectionRefused")).toBe(
    "http://node can't be reached (ECONNREFUSED); check that the node is running and that this is its address.",
  );
  expect(readiness(health.board).ready).toBe(false);
});

test.skipIf(!hasOpenssl)(`reports a certificate that is not trusted${withoutOpenssl}`, async () => {
  await using certificates = await createCertificateIssuer();
  const { key, cert } = await certificates.make(1);
  const node = createServer({ key, cert }, respondToRpc(good)).listen(0, "127.0.0.1");
  using _ = { [Symbol.dispose]: () => void node.close() };
  await once(node, "listening");
  const host = `127.0.0.1:${(node.address() as AddressInfo).port}`;
  await using health = watch(`https://${host}`, {
    GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: `wss://${host}`,
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "true",
  });
  expect(await health.words("RpcResponding", "Unreachable")).toContain(
    "https://node has a certificate that is not accepted (DEPTH_ZERO_SELF_SIGNED_CERT); renew or correct it,",
  );
  expect(await health.words("WebSocketResponding", "Unreachable")).toContain(
    "wss://node has a certificate that is not accepted (DEPTH_ZERO_SELF_SIGNED_CERT)",
  );
});

test("infers a stopped node only from a closed port, because a node that resets connections is running", async () => {
  let resets = true;
  await using node = await serve((request, response) => {
    if (resets) return void request.socket.resetAndDestroy();
    return respondToRpc({ ...good, eth_blockNumber: rising })(request, response);
  });
  await using health = watch(node.url);
  resets = false;
  await health.words("RpcResponding", "Responding");
  resets = true;
  expect(await health.words("RpcResponding", "ConnectionClosed")).toBe(
    "http://node accepted the connection but closed it before its response was complete (ECONNRESET); check the logs of the node and of any proxy in front of it.",
  );
  resets = false;
  await health.words("RpcResponding", "Responding");
  expect(health.current().startedAfterMs).toBeUndefined();
  await new Promise<void>((resolve) => {
    node.server.closeAllConnections();
    node.server.close(() => resolve());
  });
  const { answeredMs } = health.current();
  await health.words("RpcResponding", "ConnectionRefused");
  await readUntil(
    health.current,
    ({ startedAfterMs }) => startedAfterMs !== undefined && startedAfterMs >= (answeredMs ?? 0),
  );
});

const mixedUp = '{"jsonrpc":"2.0","id":2,"result":"0x1"}';

test.each<[what: string, answer: RequestListener, reason: string, words: string]>([
  [
    "closes halfway through a body",
    closing("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"),
    "ConnectionClosed",
    "closed it",
  ],
  ["closes halfway through a header", closing("HTTP/1.1 200 OK\r\nContent-"), "ConnectionClosed", "but closed it"],
  ["closes immediately", closing(""), "ConnectionClosed", "accepted the connection but closed it"],
  [
    "hangs",
    () => undefined,
    "TimedOut",
    "http://node did not respond within 300 ms; check that the node is running, and its load.",
  ],
  [
    "returns HTML",
    responding("<!doctype html><p>502</p>"),
    "NotJsonRpc",
    'eth_blockNumber on http://node returned "<!doctype html><p>502</p>", not JSON; check that it is the node\'s RPC port.',
  ],
  [
    "returns the response to another request, like a proxy that mixes them up",
    responding(mixedUp),
    "NotJsonRpc",
    "http://node returned the response to another request (expected the id 1, found 2) for eth_blockNumber; check that it is the node's RPC port, and not a proxy that mixes up responses.",
  ],
  ["returns far too much data", responding("x".repeat(200_000)), "ResponseTooLarge", "returned more than 65536 bytes"],
])("reports an RPC that %s", async (_, response, reason, words) => {
  await using node = await serve(response);
  await using health = watch(node.url);
  expect(await health.words("RpcResponding", reason)).toContain(words);
});

test("does not report a node at an unreachable address as refusing connections", async () => {
  // No machine can have this address (RFC 1122, 3.2.1.3), and the system sends nothing to it.
  await using health = watch("http://255.255.255.255:18100", {
    GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: "ws://255.255.255.255:18200",
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "true",
  });
  expect(await health.words("RpcResponding", "Unreachable")).toContain("can't be reached (E");
  expect(await health.words("WebSocketResponding", "Unreachable")).toContain("can't be reached (E");
});

test("reports an RPC of a different chain", async () => {
  await using node = await serve(respondToRpc({ ...good, eth_chainId: () => "0x1", eth_blockNumber: rising }));
  await using health = watch(node.url);
  expect(await health.words("ChainIdMatches", "WrongChain")).toBe(
    "The node is on chain 1; expected 1672; correct node.httpUrl or node.chainId.",
  );
});

test("ignores heights of a different chain, so that a node that returns to its chain has lost no block", async () => {
  let isElsewhere = false;
  const eth_chainId = () => (isElsewhere ? "0x1" : "0x688");
  let ownHeight = 600;
  const eth_blockNumber = () => `0x${(isElsewhere ? 20_000_000 : (ownHeight += 1)).toString(16)}`;
  await using node = await serve(respondToRpc({ ...good, eth_chainId, eth_blockNumber }));
  await using health = watch(node.url, { GATEHOUSE_SIDECAR_HEALTH_STALE_AFTER_MS: "60000" });
  await health.words("ChainIdMatches", "Matches");
  isElsewhere = true;
  await health.words("ChainIdMatches", "WrongChain");
  await readUntil(health.current, ({ height }) => height === 20_000_000);
  isElsewhere = false;
  await health.words("ChainIdMatches", "Matches");
  await readUntil(health.current, ({ height }) => height !== undefined && height < 1_000);
  expect(health.board.get("HeightAdvancing")).toMatchObject({ status: "True", reason: "Advancing" });
  isElsewhere = true;
  await health.words("ChainIdMatches", "WrongChain");
  ownHeight = 100;
  isElsewhere = false;
  await health.words("ChainIdMatches", "Matches");
  expect(await health.words("HeightAdvancing", "WentBackwards")).toMatch(/^The height dropped from 6\d\d to 10\d;/);
});

test("detects a replaced node without a failed check, because every check queries the chain", async () => {
  const asked = { heights: 0, chains: 0 };
  const eth_blockNumber = () => {
    asked.heights += 1;
    return rising();
  };
  const eth_chainId = () => {
    asked.chains += 1;
    return asked.chains < 4 ? "0x688" : "0x1";
  };
  await using node = await serve(respondToRpc({ ...good, eth_chainId, eth_blockNumber }));
  // With a shorter timeout, a busy machine would request the height again.
  await using health = watch(node.url, { GATEHOUSE_SIDECAR_HEALTH_TIMEOUT_MS: "20000" });
  await health.words("ChainIdMatches", "WrongChain");
  await readUntil(
    () => asked.heights,
    (heights) => heights > 5,
  );
  // Both responses are requested together, so either may arrive first.
  await readUntil(
    () => asked.heights - asked.chains,
    (ahead) => ahead <= 1,
  );
});

async function serveHeight(first: number) {
  const state = { height: first };
  const node = await serve(respondToRpc({ ...good, eth_blockNumber: () => `0x${state.height.toString(16)}` }));
  return { ...node, state };
}

const since = /since \d{4}-\d\d-\d\dT[\d:.]+Z/;

test("reports a stalled height as unknown and a dropped one as lost blocks without references", async () => {
  await using node = await serveHeight(16);
  await using health = watch(node.url);
  expect((await health.words("HeightAdvancing", "Quiet"))?.replace(since, "since then")).toBe(
    "No new blocks: height has been 16 for more than 0.3 s, since then. Calls are served. Set lag.references to tell a stalled node from a stalled chain.",
  );
  expect(health.board.get("HeightAdvancing")?.status).toBe("Unknown");
  expect(readiness(health.board).ready).toBe(true);
  node.state.height = 17;
  await health.words("HeightAdvancing", "Advancing");
  node.state.height = 3;
  expect(await health.words("HeightAdvancing", "WentBackwards")).toBe(
    "The height dropped from 17 to 3; the node lost blocks or its data was replaced. Check the node's log and its data directory.",
  );
  expect(readiness(health.board).ready).toBe(false);
  // Nothing shows that the chain continues after block 3: a development chain may have been reset for good.
  await health.words("HeightAdvancing", "Quiet");
  expect(readiness(health.board).ready).toBe(true);
  node.state.height = 2;
  expect(await health.words("HeightAdvancing", "WentBackwards")).toContain("from 3 to 2;");
});

test("reports a height that rose steadily and then stalled, but still serves calls", async () => {
  await using node = await serveHeight(1);
  await using health = watch(node.url, { GATEHOUSE_SIDECAR_HEALTH_STALE_AFTER_MS: "1000" });
  const rise = setInterval(() => (node.state.height += 1), 50);
  await readUntil(
    () => node.state.height,
    (height) => height > 30,
  );
  clearInterval(rise);
  expect((await health.words("HeightAdvancing", "NoNewBlock"))?.replace(since, "since then")).toBe(
    `No new blocks after a steady rate: height has been ${node.state.height} for more than 1 s, since then. Calls are served. Check the node's peers and its log; set lag.references to tell a stalled node from a stalled chain.`,
  );
  expect(health.board.get("HeightAdvancing")?.status).toBe("False");
  expect(readiness(health.board).ready).toBe(true);
});

test("accepts a height that does not advance while the references are not ahead, and reports a stall otherwise", async () => {
  await using node = await serveHeight(16);
  let isAnswering = true;
  let height = 16;
  await using reference = await serve((request, response) => {
    if (isAnswering) respondToRpc({ eth_blockNumber: () => `0x${height.toString(16)}` })(request, response);
    else response.end("oops");
  });
  await using health = watch(node.url, {
    GATEHOUSE_SIDECAR_LAG_REFERENCES: reference.url,
    GATEHOUSE_SIDECAR_LAG_INTERVAL_MS: "20",
  });
  expect((await health.words("HeightAdvancing", "Idle"))?.replace(since, "since then")).toBe(
    "No new blocks, and none on the references either: height has been 16 for more than 0.3 s, since then.",
  );
  expect(health.board.get("HeightAdvancing")?.status).toBe("True");
  height = 17;
  expect((await health.words("HeightAdvancing", "Stalled"))?.replace(since, "since then")).toBe(
    "No new blocks on the node, although the chain may have some: height has been 16 for more than 0.3 s, since then. Check the node's peers and its log.",
  );
  expect(readiness(health.board).ready).toBe(false);
  height = 16;
  await health.words("HeightAdvancing", "Idle");
  isAnswering = false;
  await health.words("HeightAdvancing", "Stalled");
});

test("reports lost blocks for a node with restored older data, then a node that is behind its references and advances", async () => {
  await using node = await serveHeight(900);
  let isAnswering = true;
  await using reference = await serve((request, response) => {
    if (isAnswering) respondToRpc({ eth_blockNumber: () => "0x3e8" })(request, response);
    else response.end("oops");
  });
  await using health = watch(node.url, {
    GATEHOUSE_SIDECAR_LAG_REFERENCES: reference.url,
    GATEHOUSE_SIDECAR_LAG_INTERVAL_MS: "20",
  });
  await health.words("HeightAdvancing", "Advancing");
  node.state.height = 100;
  expect(await health.words("HeightAdvancing", "WentBackwards")).toContain("from 900 to 100;");
  const rise = setInterval(() => (node.state.height += 1), 50);
  await health.words("HeightAdvancing", "Advancing");
  await health.words("NodeSynced", "Behind");
  clearInterval(rise);
  // The reference, which knows the chain's height, does not respond: the chain may have continued from the node's former height.
  isAnswering = false;
  await health.words("NodeSynced", "NoReference");
  node.state.height = 50;
  await health.words("HeightAdvancing", "WentBackwards");
  const { answers: responses } = health.current();
  await readUntil(
    () => health.current().answers,
    (now) => now > responses + 40,
  );
  expect(health.board.get("HeightAdvancing")?.reason).toBe("WentBackwards");
});

test("reports a height that lags the references, ignoring a wrong one", async () => {
  await using node = await serve(respondToRpc({ ...good, eth_blockNumber: () => "0x64" }));
  await using reference = await serve(respondToRpc({ eth_blockNumber: () => "0x1f4" }));
  await using broken = await serve((_, response) => response.end("oops"));
  await using health = watch(node.url, {
    GATEHOUSE_SIDECAR_LAG_REFERENCES: `${reference.url},${broken.url}`,
    GATEHOUSE_SIDECAR_LAG_INTERVAL_MS: "20",
  });
  expect(await health.words("NodeSynced", "Behind")).toBe(
    "The node is at 100, 400 blocks behind the references (limit: 50); check its peers and its disk.",
  );
});

test("reports a WebSocket that freezes or mixes up responses while HTTP responds", async () => {
  await using node = await serve(respondToRpc({ ...good, eth_blockNumber: rising }));
  let response: string | undefined = '{"jsonrpc":"2.0","id":1,"result":"0x1"}';
  let rejection: string | undefined;
  node.server.on("upgrade", (request, socket, head) => {
    if (rejection !== undefined) return void socket.end(rejection);
    node.sockets.handleUpgrade(request, socket, head, (client) => {
      client.on("message", () => {
        if (response !== undefined) client.send(response);
      });
    });
  });
  await using health = watch(node.url, {
    GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: node.url.replace("http", "ws"),
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "true",
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET_INTERVAL_MS: "20",
  });
  await health.words("WebSocketResponding", "Responding");
  response = undefined;
  const advice = "subscribers are not served. Enable the node's WebSocket, or correct node.webSocketUrl.";
  expect(await health.words("WebSocketResponding", "TimedOut")).toBe(
    `ws://node did not respond to eth_blockNumber within 300 ms; ${advice}`,
  );
  expect(health.board.get("RpcResponding")?.status).toBe("True");
  response = mixedUp;
  expect(await health.words("WebSocketResponding", "NotJsonRpc")).toBe(
    `ws://node returned the response to another request (expected the id 1, found 2) for eth_blockNumber; ${advice}`,
  );
  rejection = "HTTP/1.1 405 Method Not Allowed\r\n\r\n";
  expect(await health.words("WebSocketResponding", "ConnectionRefused")).toBe(
    `ws://node rejected the WebSocket handshake (Unexpected server response: 405); ${advice}`,
  );
  rejection = "";
  expect(await health.words("WebSocketResponding", "ConnectionClosed")).toBe(
    `ws://node closed the connection during the WebSocket handshake (ECONNRESET); ${advice}`,
  );
});

test("sends credentials in the URL but never shows them", async () => {
  const answer = respondToRpc({ ...good, eth_blockNumber: rising });
  await using node = await serve((request, response) => {
    if (request.headers.authorization === `Basic ${btoa("user:secret")}`) answer(request, response);
    else response.writeHead(302, { Location: "/elsewhere" }).end();
  });
  const withPassword = (password: string) => node.url.replace("//", `//user:${password}@`);
  await using health = watch(withPassword("secret"));
  expect(await health.words("RpcResponding", "Responding")).not.toContain("secret");
  await using rejected = watch(withPassword("other"));
  expect(await rejected.words("RpcResponding", "NotJsonRpc")).toBe(
    "http://node returned a redirect (302), which is not followed; check that it is the node's RPC port.",
  );
});
