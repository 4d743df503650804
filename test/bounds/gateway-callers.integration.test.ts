import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from "jose";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { byHand } from "#gateway/testing/fake-node.ts";
import { startCollector } from "../support/gateway/trace-collector.ts";
import { isLong } from "../support/run-size.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { ask, readErrorCode, openRaw, buildRequest } from "../support/gateway/raw-call.ts";
import { holdReads, startSmallGateway, storage, syncing, type SmallGateway } from "../support/gateway/small-gateway.ts";

/** Max callers and tokens to remember; the default numbers would take a minute. */
const remembered = isLong ? { callers: 100_000, tokens: 10_000 } : { callers: 2_000, tokens: 300 };
const key = "a-key-of-the-operator";
const constant = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';
const code = (at: number) =>
  JSON.stringify({ jsonrpc: "2.0", id: at, method: "eth_call", params: [{ gasPrice: `0x${at}` }, "latest"] });
/** Long enough for a busy machine to sign and send all of them. */
const longMs = 240_000;

const folder = makeSharedDirectory();
let signer: CryptoKey;
let gateway: SmallGateway;

beforeAll(async () => {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  signer = privateKey;
  writeFileSync(join(folder, "jwks.json"), JSON.stringify({ keys: [await exportJWK(publicKey)] }));
  const entry = { name: "ops", sha256: hash("sha256", key), tier: "paid" };
  writeFileSync(join(folder, "keys.json5"), JSON.stringify({ keys: [entry] }));
  const env = {
    GATEHOUSE_GATEWAY_PRIVATE_ENABLED: "true",
    GATEHOUSE_GATEWAY_INTERNAL_ENABLED: "true",
    GATEHOUSE_GATEWAY_CALLERS_KEYS_PATH: join(folder, "keys.json5"),
    GATEHOUSE_GATEWAY_JWT_JWKS_PATH: join(folder, "jwks.json"),
    GATEHOUSE_GATEWAY_METHODS:
      '{ "eth_getStorageAt": { "timeoutMs": 60000 }, "debug_traceTransaction": { "timeoutMs": 60000 } }',
  };
  const constants = {
    "overload.waitMs": 100,
    "jwt.cacheEntries": remembered.tokens,
    "listener.newConnectionsPerAddress": 100_000,
  };
  gateway = await startSmallGateway(env, { constants });
});
afterEach(async () => {
  await until(
    "no call is in flight",
    generousMs,
    async () => (await gateway.metric("gatehouse_gateway_calls_in_flight")) === 0,
  );
  await gateway.expectOthersServed();
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
});

const underWay = (calls: number) =>
  until(
    `${calls} are in flight`,
    generousMs,
    async () => (await gateway.metric("gatehouse_gateway_calls_in_flight")) === calls,
  );

function holdTraces(): Readonly<{ ends: (() => void)[] }> {
  const ends: (() => void)[] = [];
  gateway.node.answer(({ id, method }, response) => {
    if (method !== "debug_traceTransaction") return "0x1";
    ends.push(() => response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{}}`));
    return byHand;
  });
  return { ends };
}

it("limits the bytes sent per caller", async () => {
  // 60,000 units, which refill at 6,000 per second: a message of 5,000 KiB costs 10,000.
  const message = syncing.padEnd(5_000 * 1_024);
  const statuses: (number | undefined)[] = [];
  for (let sent = 0; sent < 30 && statuses.at(-1) !== 429; sent += 1) {
    const { status, text, headers } = await ask(gateway.url, message, { address: "198.51.100.1" });
    statuses.push(status);
    if (status === 429) expect([readErrorCode(text), headers["retry-after"]]).toEqual([-32_005, expect.any(String)]);
  }
  expect(statuses.length).toBeGreaterThan(6);
  expect(statuses.at(-1)).toBe(429);
});

it("limits the response bytes per caller", async () => {
  gateway.node.answer(({ method }) => (method === "eth_getStorageAt" ? "z".repeat(8_000_000) : "0x1"));
  const answers: { status: number | undefined; bytes: number }[] = [];
  for (let at = 0; at < 40 && answers.at(-1)?.status !== 429; at += 1) {
    const { status, text } = await ask(gateway.url, storage(1_000 + at), { address: "198.51.100.2" });
    answers.push({ status, bytes: text.length });
  }
  // 60 MB, plus the refill during the test.
  expect(answers.at(-1)?.status).toBe(429);
  expect(answers.length).toBeGreaterThan(7);
  gateway.node.answer(() => "0x1");
});

it("limits the node's time for contract code per caller", async () => {
  gateway.node.answer(({ id, method }, response) => {
    if (method !== "eth_call") return "0x1";
    setTimeout(() => response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":"0x"}`), 2_000);
    return byHand;
  });
  const address = "198.51.100.90";
  // 2,000 units each, out of 60,000 plus 12,000 refilled during the test; 26 of each were paid in advance.
  const answers = await Promise.all(Array.from({ length: 48 }, (_, at) => ask(gateway.url, code(at), { address })));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 48 }, () => 200));
  expect((await ask(gateway.url, constant, { address })).status).toBe(429);
  gateway.node.answer(() => "0x1");
});

it.each([
  ["limits the concurrent calls per caller, public listener", "public", 48],
  ["limits the concurrent calls per caller, private listener", "paid", 56],
] as const)("%s", async (_, tier, most) => {
  const reads = holdReads(gateway.node);
  const [url, asker] =
    tier === "public"
      ? [gateway.url, { address: "198.51.100.3" }]
      : [gateway.urls.private, { headers: { Authorization: `Bearer ${key}` } }];
  const calls = Array.from({ length: most }, (_call, at) => ask(url, storage(most * 1_000 + at), asker));
  await underWay(most);
  const rejected = await ask(url, storage(most * 1_000 + most), asker);
  expect([rejected.status, readErrorCode(rejected.text)]).toEqual([429, -32_005]);
  await gateway.expectOthersServed();
  reads.letGo();
  expect((await Promise.all(calls)).every(({ status }) => status === 200)).toBe(true);
});

const trace = (at: number) =>
  `{"jsonrpc":"2.0","id":${at},"method":"debug_traceTransaction","params":["0x${String(at).padStart(64, "0")}"]}`;

it(
  "limits the concurrent calls to the node in total",
  async () => {
    const reads = holdReads(gateway.node);
    // As many callers as needed, each with the max number of calls that may wait for the node.
    const calls = Array.from({ length: 2_048 }, (_, at) =>
      openRaw(gateway.urls.internal, buildRequest(storage(10_000 + at)), { localAddress: `127.0.0.${2 + (at % 4)}` }),
    );
    await underWay(2_048);
    const rejected = await ask(gateway.url, storage(9_999), { address: "198.51.100.4" });
    expect([rejected.status, readErrorCode(rejected.text)]).toEqual([429, -32_005]);
    // The gateway still serves what it knows by itself.
    expect((await ask(gateway.url, constant, { address: "198.51.100.4" })).status).toBe(200);
    reads.letGo();
    await until("all have a response", generousMs, () =>
      calls.every(({ received }) => received().includes('"result":"0x1"')),
    );
    for (const call of calls) call[Symbol.dispose]();
    // Far fewer heavy calls are admitted, so that others can still be served.
    const traces = holdTraces();
    const heavy = Array.from({ length: 16 }, (_, at) =>
      ask(gateway.url, trace(at), { address: `198.51.100.${100 + at}` }),
    );
    await until("sixteen calls are at the node", generousMs, () => traces.ends.length === 16);
    const beyond = await ask(gateway.url, trace(17), { address: "198.51.100.140" });
    expect([beyond.status, readErrorCode(beyond.text)]).toEqual([429, -32_005]);
    await gateway.expectOthersServed();
    for (const end of traces.ends) end();
    expect((await Promise.all(heavy)).every(({ status }) => status === 200)).toBe(true);
  },
  longMs,
);

it(
  "limits the callers with a stored rate",
  async () => {
    const { callers } = remembered;
    // A caller's used-up rate limit is not refilled during the test.
    const tier = { requestsPerSecond: 0.001, requestBurst: 5, computeUnitsPerSecond: 1e6, computeUnitBurst: 1e6 };
    await using few = await startSmallGateway(
      { GATEHOUSE_GATEWAY_TIERS: JSON.stringify({ public: { ...tier, concurrency: 48 } }) },
      { constants: { "rateStore.clients": callers } },
    );
    const askAs = async (address: string) => (await ask(few.url, constant, { address })).status;
    let come = 0;
    const bringOthers = async (count: number) => {
      for (const most = come + count; come < most; come += 100) {
        const some = Array.from({ length: 100 }, (_, at) => come + at);
        const statuses = await Promise.all(some.map((at) => askAs(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`)));
        expect(new Set(statuses)).toEqual(new Set([200]));
      }
    };
    for (let call = 0; call < 5; call += 1) expect(await askAs("198.51.100.5")).toBe(200);
    await bringOthers(callers - 100);
    expect(await askAs("198.51.100.5")).toBe(429);
    await bringOthers(callers + 100);
    expect(await askAs("198.51.100.5")).toBe(200);
    await few.expectOthersServed();
  },
  longMs,
);

const tokenOf = (subject: number) =>
  new SignJWT({ tier: "paid" })
    .setProtectedHeader({ alg: "ES256" })
    .setSubject(`0x${String(subject).padStart(40, "0")}`)
    .setExpirationTime("1h")
    .sign(signer);

/** Calls with a token, each from a different address: those of one address are not all verified at once. */
const bearing = (token: string, index: number) =>
  ask(gateway.urls.private, constant, {
    address: `10.0.${Math.floor(index / 250)}.${index % 250}`,
    headers: { Authorization: `Bearer ${token}` },
  });

it(
  "limits the cached verified tokens",
  async () => {
    const { tokens } = remembered;
    const first = await tokenOf(0);
    expect((await bearing(first, 0)).status).toBe(200);
    for (let at = 1; at <= tokens; at += 50) {
      const more = await Promise.all(Array.from({ length: 50 }, (_, next) => tokenOf(at + next)));
      expect(
        (await Promise.all(more.map((token, next) => bearing(token, at + next)))).every(({ status }) => status === 200),
      ).toBe(true);
    }
    // The first token was evicted, and is verified again.
    expect((await bearing(first, 0)).status).toBe(200);
  },
  longMs,
);

it("limits the queued spans", async () => {
  const answering = Promise.withResolvers<undefined>();
  await using collector = await startCollector(answering.promise);
  const env = {
    GATEHOUSE_GATEWAY_INTERNAL_ENABLED: "true",
    GATEHOUSE_GATEWAY_TRACING_OTLP_URL: collector.url,
    GATEHOUSE_GATEWAY_TRACING_SAMPLE_RATIO: "1",
  };
  const traced = await startSmallGateway(env, { constants: { "tracing.timeoutMs": 60_000 } });
  const calls = 10_000;
  const batch = `[${Array.from({ length: 1_000 }, () => constant).join(",")}]`;
  for (let sent = 0; sent < calls; sent += 1_000) expect((await ask(traced.urls.internal, batch)).status).toBe(200);
  await traced.expectOthersServed();
  answering.resolve(undefined);
  await traced[Symbol.asyncDispose]();
  // As many as allowed were queued, and at most as many were in flight.
  expect(collector.spans().length).toBeGreaterThanOrEqual(4_096);
  expect(collector.spans().length).toBeLessThanOrEqual(2 * 4_096);
});
