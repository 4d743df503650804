import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startCollector } from "../support/gateway/trace-collector.ts";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { responseWritten } from "#gateway/testing/fake-node.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { ask, readErrorCode, openRaw, buildRequest } from "../support/gateway/raw-call.ts";
import { holdReads, startSmallGateway, storage, type SmallGateway } from "../support/gateway/small-gateway.ts";

const key = "a-key-of-the-operator";
const constant = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';
/** Long enough for a busy machine to send all of them. */
const longMs = 240_000;

const folder = makeSharedDirectory();
let gateway: SmallGateway;

beforeAll(async () => {
  const entry = { name: "ops", sha256: hash("sha256", key), tier: "paid" };
  writeFileSync(join(folder, "keys.json5"), JSON.stringify({ keys: [entry] }));
  const env = {
    GATEHOUSE_GATEWAY_PRIVATE_ENABLED: "true",
    GATEHOUSE_GATEWAY_INTERNAL_ENABLED: "true",
    GATEHOUSE_GATEWAY_CALLERS_KEYS_PATH: join(folder, "keys.json5"),
    GATEHOUSE_GATEWAY_METHODS:
      '{ "eth_getStorageAt": { "timeoutMs": 60000 }, "debug_traceTransaction": { "timeoutMs": 60000 } }',
  };
  const constants = {
    "overload.waitMs": 100,
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
  gateway.node.respondAs(({ id, method }, response) => {
    if (method !== "debug_traceTransaction") return "0x1";
    ends.push(() => response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{}}`));
    return responseWritten;
  });
  return { ends };
}

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
  const rejectedResponse = await ask(url, storage(most * 1_000 + most), asker);
  expect([rejectedResponse.status, readErrorCode(rejectedResponse.text)]).toEqual([429, -32_005]);
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
    const rejectedResponse = await ask(gateway.url, storage(9_999), { address: "198.51.100.4" });
    expect([rejectedResponse.status, readErrorCode(rejectedResponse.text)]).toEqual([429, -32_005]);
    // The gateway still responds to calls that don't need the node.
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

it("limits the queued spans", async () => {
  const pendingResponse = Promise.withResolvers<undefined>();
  await using collector = await startCollector(pendingResponse.promise);
  const env = {
    GATEHOUSE_GATEWAY_INTERNAL_ENABLED: "true",
    GATEHOUSE_GATEWAY_TRACING_OTLP_URL: collector.url,
    GATEHOUSE_GATEWAY_TRACING_SAMPLE_RATIO: "1",
  };
  const tracedGateway = await startSmallGateway(env, { constants: { "tracing.timeoutMs": 60_000 } });
  const calls = 10_000;
  const batch = `[${Array.from({ length: 1_000 }, () => constant).join(",")}]`;
  for (let sent = 0; sent < calls; sent += 1_000)
    expect((await ask(tracedGateway.urls.internal, batch)).status).toBe(200);
  await tracedGateway.expectOthersServed();
  pendingResponse.resolve(undefined);
  await tracedGateway[Symbol.asyncDispose]();
  // The max number was queued, and at most that many were in flight.
  expect(collector.spans().length).toBeGreaterThanOrEqual(4_096);
  expect(collector.spans().length).toBeLessThanOrEqual(2 * 4_096);
});
