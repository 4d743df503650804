import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import {
  respondToRpc,
  goodResponses as good,
  risingHeight as rising,
  serveNode as serve,
  watchNode as watch,
} from "#sidecar/testing/watched-node.ts";
import { readUntil } from "#daemon/testing/until.ts";

test("picks up a node version that is reported late, and treats it as outdated after the node was down", async () => {
  let version: unknown;
  let isDown = false;
  const answer = respondToRpc({ ...good, eth_blockNumber: rising, debug_protocolVersion: () => version });
  await using node = await serve((request, response) => {
    if (isDown) response.destroy();
    else answer(request, response);
  });
  await using health = watch(node.url);
  const reported = () => health.current().binaryVersion;
  await health.words("RpcResponding", "Responding");
  expect(reported()).toBeUndefined();
  version = { binaryVersion: "0.15.2", protocolVersion: 1 };
  expect(await readUntil(reported, (found) => found !== undefined)).toEqual({ text: "0.15.2", isCurrent: true });
  version = { binaryVersion: 16 };
  expect(await readUntil(reported, (found) => found?.isCurrent === false)).toEqual({
    text: "0.15.2",
    isCurrent: false,
  });
  version = { binaryVersion: "0.15.2" };
  await readUntil(reported, (found) => found?.isCurrent === true);
  isDown = true;
  expect(await readUntil(reported, (found) => found?.isCurrent === false)).toEqual({
    text: "0.15.2",
    isCurrent: false,
  });
  version = { binaryVersion: "0.16.0" };
  isDown = false;
  expect(await readUntil(reported, (found) => found?.isCurrent === true)).toEqual({ text: "0.16.0", isCurrent: true });
});

const dayMs = 86_400_000;

test.each([
  [
    "a day behind",
    dayMs,
    /^Height is \d+\. The timestamp of block \d+ was 86\d{3} s in the future: this machine's clock is behind \(run timedatectl set-ntp true\), or the block producers' is ahead\.$/,
  ],
  [
    "a day ahead",
    -dayMs,
    /^Height is \d+\. Block \d+ was already 86\d{3} s old when it arrived, according to its timestamp: this machine's clock is ahead \(run timedatectl set-ntp true\), or the node is catching up\.$/,
  ],
])("reports a clock that is %s of the blocks' timestamps", async (_, offsetMs, expected) => {
  const timestamp = () => `0x${Math.floor((Date.now() + offsetMs) / 1_000).toString(16)}`;
  const block = () => ({ timestamp: timestamp() });
  await using node = await serve(respondToRpc({ ...good, eth_blockNumber: rising, eth_getBlockByNumber: block }));
  await using health = watch(node.url);
  const advancing = () => health.board.get("HeightAdvancing");
  const found = await readUntil(advancing, (condition) => /timestamp/.test(condition?.message ?? ""));
  expect(found).toMatchObject({
    status: "True",
    reason: "Advancing",
    message: expect.stringMatching(expected) as string,
  });
});

test("drops what a block showed about the clock once the node no longer returns blocks", async () => {
  let block: unknown = { timestamp: `0x${Math.floor((Date.now() + dayMs) / 1_000).toString(16)}` };
  await using node = await serve(respondToRpc({ ...good, eth_blockNumber: rising, eth_getBlockByNumber: () => block }));
  await using health = watch(node.url);
  const message = () => health.board.get("HeightAdvancing")?.message ?? "";
  await readUntil(message, (text) => text.includes("timestamp"));
  block = null;
  expect(await readUntil(message, (text) => !text.includes("timestamp"))).toMatch(/^Height is \d+\.$/);
});

test("reports no clock for recent blocks, and none for the old blocks of a node that syncs", async () => {
  let [ageMs, syncing]: [number, unknown] = [0, false];
  const block = () => ({ timestamp: `0x${Math.floor((Date.now() - ageMs) / 1_000).toString(16)}` });
  const answers = { ...good, eth_syncing: () => syncing, eth_blockNumber: rising, eth_getBlockByNumber: block };
  await using node = await serve(respondToRpc(answers));
  await using health = watch(node.url);
  const steady = (count: number) =>
    readUntil(health.current, ({ cadence, answers: all }) => cadence === "steady" && all > count);
  expect(await steady(30)).toMatchObject({ clockDifference: "" });
  [ageMs, syncing] = [dayMs, { currentBlock: "0x1" }];
  await readUntil(health.current, (state) => state.syncing !== false);
  expect(await steady(health.current().answers + 30)).toMatchObject({ clockDifference: "" });
});

test.each([
  ["does not support", '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}'],
  ["responds with a web page for", "<html>forbidden</html>"],
  ["responds with too much data for", "x".repeat(200_000)],
])("reports the node as responding if its endpoint %s an optional method", async (how, rejection) => {
  const answer = respondToRpc({ eth_blockNumber: rising, eth_chainId: () => "0x688" });
  await using node = await serve((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method } = JSON.parse(Buffer.concat(chunks).toString()) as { method: string };
      const isNeeded = method === "eth_blockNumber" || method === "eth_chainId";
      if (isNeeded) answer(Readable.from(chunks) as IncomingMessage, response);
      else response.writeHead(403).end(rejection);
    });
  });
  await using health = watch(node.url);
  await health.words("ChainIdMatches", "Matches");
  expect(health.board.get("RpcResponding")?.status, how).toBe("True");
  expect(health.current()).not.toHaveProperty("clientVersion");
});

test.each([
  ["a method error, with 400", 400, "RpcError", "the height is not known yet"],
  ["a server error, with 500", 500, "RpcError", "the height is not known yet"],
])("reports the node's own message: %s", async (how, status, reason, words) => {
  await using node = await serve((_request, response) => {
    response.writeHead(status).end(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"${words}"}}`);
  });
  await using health = watch(node.url);
  expect(await health.words("RpcResponding", reason), how).toBe(
    `http://node returned an error for eth_blockNumber: ${words}`,
  );
});

test.each([
  [502, "<h1>Bad Gateway</h1>", 'eth_blockNumber on http://node returned HTTP 502 and "<h1>Bad Gateway</h1>"'],
  [401, "", "eth_blockNumber on http://node returned HTTP 401 and an empty body"],
])("reports the status of an HTTP %i response that is not JSON-RPC", async (status, body, words) => {
  await using node = await serve((_request, response) => response.writeHead(status).end(body));
  await using health = watch(node.url);
  expect(await health.words("RpcResponding", "NotJsonRpc")).toBe(
    `${words}, not JSON; check that it is the node's RPC port and that node.httpUrl has the required credentials.`,
  );
});

test("reports a rate limit of the node's provider, not another program at its address", async () => {
  await using node = await serve((_request, response) => response.writeHead(429).end("Too many requests"));
  await using health = watch(node.url);
  expect(await health.words("RpcResponding", "RpcError")).toBe(
    "http://node rejected eth_blockNumber with HTTP 429, because this client exceeds its rate limit; raise that limit, or health.intervalMs.",
  );
});
