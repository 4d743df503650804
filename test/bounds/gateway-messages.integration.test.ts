import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { ask, readErrorCode, openMany, openRaw, buildRequest, type RawClient } from "../support/gateway/raw-call.ts";
import { startSmallGateway, syncing, type SmallGateway } from "../support/gateway/small-gateway.ts";

let gateway: SmallGateway;

beforeAll(async () => {
  gateway = await startSmallGateway({
    GATEHOUSE_GATEWAY_INTERNAL_ENABLED: "true",
    // Allowed for one call, so that the limit on a message's bytes applies.
    GATEHOUSE_GATEWAY_METHODS: '{ "eth_coinbase": { "paramsBytes": 10000000 } }',
  });
});
afterEach(() => gateway.expectOthersServed());
afterAll(() => gateway[Symbol.asyncDispose]());

const coinbase = (params = "", id = 1) => `{"jsonrpc":"2.0","id":${id},"method":"eth_coinbase","params":[${params}]}`;
function fillBatch(bytes: number): string {
  const calls = Math.ceil(bytes / 500_000);
  const shortest = coinbase('""').length + 1;
  const ownBytes = Array.from({ length: calls }, (_, at) => Math.floor(bytes / calls) + (at < bytes % calls ? 1 : 0));
  const texts = ownBytes.map((own, at) => coinbase(`"${"x".repeat(own - shortest - (at === 0 ? 1 : 0))}"`));
  return `[${texts.join(",")}]`;
}
async function exchange(bytes: string): Promise<string> {
  using client = openRaw(gateway.url, bytes);
  await until("a response has arrived", generousMs, () => client.received().includes("\r\n\r\n"));
  return client.received();
}
/** Returns the error code for a call by a new caller, which has not used any units yet. */
let address = 0;
async function codeOf(body: string): Promise<number | undefined> {
  address += 1;
  return readErrorCode((await ask(gateway.url, body, { address: `198.51.100.${address}` })).text);
}

it("limits the request body size", async () => {
  const mostBytes = 5_242_880;
  const longest = fillBatch(mostBytes);
  expect(longest).toHaveLength(mostBytes);
  expect((await ask(gateway.urls.internal, longest)).text).toContain('"result":"0x0"');
  const beyond = buildRequest("x", { address: "203.0.113.1" }).replace(
    "Content-Length: 1\r",
    `Content-Length: ${mostBytes + 1}\r`,
  );
  expect(await exchange(beyond)).toMatch(/^HTTP\/1\.1 413 [^]*content length too large; at most 5242880 bytes/);
  // Sends many of the longest requests at once; a single one would be served.
  const responses = await Promise.all(Array.from({ length: 16 }, () => ask(gateway.urls.internal, longest)));
  for (const { status } of responses) expect([200, 503]).toContain(status);
});

const longCall = (bytes: number) => coinbase(`"${"x".repeat(bytes - coinbase('""').length)}"`);

it("limits the call size", async () => {
  const mostBytes = 524_288;
  expect(longCall(mostBytes)).toHaveLength(mostBytes);
  expect([await codeOf(longCall(mostBytes)), await codeOf(longCall(mostBytes + 1))]).toEqual([undefined, -32_600]);
});

it("limits the values, keys and escaped characters per call", async () => {
  const zeros = (count: number) => coinbase(Array.from({ length: count }, () => "0").join(","));
  // The other values are the call itself, its four members, and its params array.
  const counts = [19_980, 20_001];
  expect([await codeOf(zeros(counts[0] ?? 0)), await codeOf(zeros(counts[1] ?? 0))]).toEqual([undefined, -32_600]);
  expect(await codeOf(coinbase(`"${String.raw`\u0000`.repeat(20_001)}"`))).toBe(-32_600);
});

const longParams = (bytes: number) =>
  `{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice","params":["${"x".repeat(bytes - 4)}"]}`;

it("limits the params size", async () => {
  expect([await codeOf(longParams(4_096)), await codeOf(longParams(4_097))]).toEqual([undefined, -32_602]);
});

const chunked = (chunks: number) =>
  buildRequest("")
    .replace("Content-Length: 0", "Transfer-Encoding: chunked")
    .concat(...Array.from(syncing.padEnd(chunks), (byte) => `1\r\n${byte}\r\n`), "0\r\n\r\n");

const isRejected = ({ received }: RawClient) =>
  received() === "" || /^HTTP\/1\.1 400 [^]*send larger chunks/.test(received());

it("limits the chunks per body", async () => {
  expect(await exchange(chunked(4_096))).toMatch(/^HTTP\/1\.1 200 /);
  // Sends many bodies at once, each with as many chunks as its max number of bytes.
  using clients = openMany(8, () => openRaw(gateway.url, chunked(100_000)));
  await until("each is rejected and closed", generousMs, () => clients.clients.every(({ isClosed }) => isClosed()));
  expect(clients.clients.every(isRejected)).toBe(true);
  expect(clients.clients.some(({ received }) => received() !== "")).toBe(true);
});

const nested = (depth: number) => coinbase(`${"[".repeat(depth)}${"]".repeat(depth)}`);

it("limits the nesting depth of a call", async () => {
  // The call and its params array add two levels.
  expect([await codeOf(nested(254)), await codeOf(nested(255))]).toEqual([undefined, -32_700]);
  expect(await codeOf("[".repeat(1_000_000))).toBe(-32_700);
});

const batch = (calls: number) => `[${Array.from({ length: calls }, (_, id) => coinbase("", id)).join(",")}]`;

it("limits the calls per batch", async () => {
  const { text } = await ask(gateway.url, batch(1_000), { address: "203.0.113.2" });
  expect(JSON.parse(text)).toHaveLength(1_000);
  expect(await codeOf(batch(1_001))).toBe(-32_600);
});

it("limits the WebSocket message size", async () => {
  for (const bytes of [1_048_576, 1_048_577]) {
    await using client = await connectTestClient(gateway.url);
    const message = fillBatch(bytes);
    if (bytes === 1_048_576) expect(await client.ask(message)).toContain('"result":"0x0"');
    else {
      client.socket.send(message);
      expect((await client.closed)[0]).toBe(1009);
    }
  }
});

const sendFrames = async (count: number) => {
  const client = await connectTestClient(gateway.url);
  for (let at = 0; at < count; at += 1) client.socket.send(at === 0 ? syncing : " ", { fin: at === count - 1 });
  return client;
};

it("limits the frames per WebSocket message", async () => {
  await using most = await sendFrames(1_024);
  await until("it has a response", generousMs, () => most.texts.length === 1);
  await using beyond = await sendFrames(1_025);
  expect((await beyond.closed)[0]).toBe(1008);
});

const connections = () => gateway.metric('gatehouse_connections{listener="internal"}');

it("limits the time per event-loop tick", async () => {
  const connectionsBefore = await connections();
  const requests = Buffer.from(buildRequest(coinbase()).repeat(60_000));
  // An operator's client without a rate limit, each of whose connections sends enough calls to delay other clients.
  const busy = openMany(50, () => openRaw(gateway.urls.internal, requests, { localAddress: "127.0.0.2" }));
  await until("they are served", generousMs, () => busy.clients.every(({ receivedBytes }) => receivedBytes() > 0));
  const waits: number[] = [];
  for (let call = 0; call < 40; call += 1) {
    const began = performance.now();
    expect((await ask(gateway.url, coinbase(), { address: "203.0.113.3" })).status).toBe(200);
    waits.push(performance.now() - began);
  }
  // Its calls are incomplete, and the rest of its data is not read.
  expect(busy.clients.filter(({ socket }) => socket.writableLength > 0).length).toBeGreaterThan(25);
  const [median = 0] = waits.toSorted((one, other) => one - other).slice(waits.length / 2);
  expect(median).toBeLessThan(1_000);
  busy[Symbol.dispose]();
  await until("they are closed", generousMs, async () => (await connections()) <= connectionsBefore);
});
