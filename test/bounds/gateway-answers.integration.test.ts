import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { byHand } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { isLong } from "../support/run-size.ts";
import { ask, readErrorCode } from "../support/gateway/raw-call.ts";
import { startSmallGateway, storage, type SmallGateway } from "../support/gateway/small-gateway.ts";

/** Large enough that the cache reaches its own limit before the limit of all memory. */
const heapMiB = 256;
/** Capacity of the cache; the default in a long run. */
const cacheBytes = isLong ? 67_108_864 : 16_777_216;
const fileBytes = 33_554_432;

const folder = makeSharedDirectory();
let policyPath: string;
let gateway: SmallGateway;
let internal: string;

beforeAll(async () => {
  policyPath = join(folder, "policy.json5");
  writeFileSync(policyPath, "{ ranges: { logsBlocks: 200 } }");
  gateway = await startSmallGateway(
    {
      GATEHOUSE_GATEWAY_INTERNAL_ENABLED: "true",
      GATEHOUSE_GATEWAY_POLICY_PATH: policyPath,
      GATEHOUSE_GATEWAY_CACHE_TOTAL_BYTES: String(cacheBytes),
    },
    // Otherwise, the largest allowed response would exceed a connection's memory limit.
    { heapMiB, constants: { "memory.connectionBytes": 40_000_000 } },
  );
  internal = gateway.urls.internal;
});
afterEach(() => gateway.expectOthersServed());
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
});

const answerWith = (bytes: number) =>
  gateway.node.answer(({ method }) => (method === "eth_getStorageAt" ? "z".repeat(bytes) : "0x1"));
const asked = () => gateway.node.requests.filter(({ method }) => method === "eth_getStorageAt").length;
const read = (id: number) => ask(internal, storage(id));

it("limits the size of a cached or shared response", async () => {
  const envelope = storageAnswer("").length;
  for (const [id, bytes, times] of [
    [1, 262_144 - envelope - 64, 1],
    [2, 262_145, 2],
  ] as const) {
    answerWith(bytes);
    const before = asked();
    for (let round = 0; round < 2; round += 1) expect((await read(id)).text.length).toBeGreaterThan(bytes);
    expect(asked() - before).toBe(times);
  }
});

it("limits the cache size", async () => {
  const most = cacheBytes;
  const eachBytes = 260_000;
  answerWith(eachBytes);
  // A fifth more than its capacity; a response that is read only once is not cached.
  const ids = Array.from({ length: Math.ceil((1.2 * most) / eachBytes) }, (_, at) => 1_000 + at);
  for (const id of ids) for (let round = 0; round < 2; round += 1) await read(id);
  const bytes = await gateway.metric("gatehouse_gateway_cache_bytes");
  expect(bytes).toBeLessThanOrEqual(most);
  expect(bytes).toBeGreaterThan(most / 2);
  // The others were evicted, and are requested again.
  const before = asked();
  for (const id of ids) await read(id);
  expect(asked() - before).toBeGreaterThan(ids.length - most / eachBytes - 1);
  expect(await gateway.metric("gatehouse_gateway_cache_bytes")).toBeLessThanOrEqual(most);
});

it("limits the response size of a batch, or over WebSocket", async () => {
  const most = 26_214_400;
  answerWith(2_000_000);
  const batch = `[${Array.from({ length: 20 }, (_, at) => storage(2_000 + at)).join(",")}]`;
  const entries = JSON.parse((await ask(internal, batch)).text) as { result?: string; error?: { code: number } }[];
  const whole = entries.filter(({ result }) => result !== undefined).length;
  expect(whole).toBe(Math.floor(most / 2_000_000));
  expect(new Set(entries.slice(whole).map(({ error }) => error?.code))).toEqual(new Set([-32_003]));
  await using client = await connectTestClient(internal);
  const fits = most - storageAnswer("", 2_100).length;
  answerWith(fits);
  expect(await client.ask(storage(2_100))).toHaveLength(most);
  answerWith(fits + 1);
  expect(readErrorCode(await client.ask(storage(2_101)))).toBe(-32_003);
}, 120_000);

it("limits the response size", async () => {
  const most = 134_217_728;
  const filler = Buffer.alloc(1_048_576, "z");
  /** A response of this many bytes, with or without a Content-Length. */
  const answer = (bytes: number, isReported: boolean) =>
    gateway.node.answer(({ id, method }, response) => {
      if (method !== "eth_getStorageAt") return "0x1";
      const [start, end] = storageAnswer("_", id).split("_");
      if (isReported) response.setHeader("Content-Length", bytes);
      response.write(start);
      let left = bytes - (start ?? "").length - (end ?? "").length;
      const more = () => {
        while (left > 0 && !response.destroyed) {
          const part = filler.subarray(0, Math.min(left, filler.length));
          left -= part.length;
          if (!response.write(part)) return;
        }
        response.end(end);
      };
      response.on("drain", more);
      more();
      return byHand;
    });
  answer(most, true);
  expect((await read(3_000)).text).toHaveLength(most);
  answer(most + 1, true);
  expect(readErrorCode((await read(3_001)).text)).toBe(-32_003);
  // Without a Content-Length, the client has already received a part of it.
  answer(most + 1, false);
  await expect(read(3_002)).rejects.toThrow("aborted");
  gateway.node.answer(() => "0x1");
}, 120_000);

const logs = (blocks: number) =>
  `{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x1","toBlock":"0x${blocks.toString(16)}"}]}`;

const isTaken = async (blocks: number) => readErrorCode((await ask(internal, logs(blocks))).text) === undefined;

const change = (text: string) => {
  writeFileSync(`${policyPath}.new`, text);
  renameSync(`${policyPath}.new`, policyPath);
};

/** Reads why the policy file is not active, as an operator sees it. */
const rejection = async () => {
  const { files } = (await (await fetch(`${gateway.urls.operations}/configuration`)).json()) as {
    files: readonly { path: string; rejected?: string }[];
  };
  return files.find(({ path }) => path.endsWith("policy.json5"))?.rejected;
};

it("limits the sizes of files read", async () => {
  change("{ ranges: { logsBlocks: 100 } }".padEnd(fileBytes));
  await until("the largest file is active", generousMs, async () => !(await isTaken(150)));
  change("{ ranges: { logsBlocks: 200 } }".padEnd(fileBytes + 1));
  await until("a larger file is rejected", generousMs, async () => (await rejection()) !== undefined);
  expect(await rejection()).toContain(`it is larger than ${fileBytes} bytes`);
  // The previous content stays active.
  expect([await isTaken(100), await isTaken(150)]).toEqual([true, false]);
});

function storageAnswer(result: string, id: unknown = 1): string {
  return `{"jsonrpc":"2.0","id":${String(id)},"result":"${result}"}`;
}
