import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { createLog } from "#daemon/log/log.ts";
import { startFakeNode } from "#gateway/testing/fake-node.ts";
import { post, startTestGateway } from "#gateway/testing/test-gateway.ts";
import { createProcessRateLimiter } from "#gateway/limits/rate-limiter.ts";
import { createRedisRateLimiter } from "#gateway/limits/redis-rate-limiter.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const hasRedis = spawnSync("redis-server", ["--version"]).status === 0;
const rates = { requestsPerSecond: 0.5, requestBurst: 40, computeUnitsPerSecond: 1, computeUnitBurst: 1_000 };
const log = createLog({ service: "test", level: "silent" });

const now = () => performance.now();

function limiterAt(port: number) {
  const fallback = createProcessRateLimiter({ clients: 10 }, { now });
  return createRedisRateLimiter(
    { url: `redis://127.0.0.1:${port}`, timeoutMs: 2_000, clients: 10 },
    { log, fallback, now },
  );
}

async function takesConnections(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    // Nothing listens there yet.
    return false;
  } finally {
    socket.destroy();
  }
}

/** Starts a store on a port and waits until it accepts connections; its content is lost on disposal. */
async function startRedis(port: number): Promise<AsyncDisposable> {
  const server: ChildProcess = spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", "--save", ""], {
    stdio: "ignore",
  });
  const exited = once(server, "exit");
  await until("the store accepts connections", generousMs, () => takesConnections(port));
  return {
    [Symbol.asyncDispose]: async () => {
      server.kill("SIGKILL");
      await exited;
    },
  };
}

const why = hasRedis ? "" : " (skipped: no redis-server on PATH)";

describe.skipIf(!hasRedis)(`rate limits in a Redis store${why}`, () => {
  let port: number;
  let store: AsyncDisposable;
  beforeAll(async () => {
    [port = 0] = await findFreePorts(1);
    store = await startRedis(port);
  });
  afterAll(() => store[Symbol.asyncDispose]());

  it("apply across replicas, atomically", async () => {
    using first = limiterAt(port);
    using secondLimiter = limiterAt(port);
    await until("both replicas reach the store", generousMs, () => first.isShared() && secondLimiter.isShared());
    const decisions = await Promise.all(
      Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? first : secondLimiter).acquire("shared", 1, rates)),
    );
    expect(decisions.filter((wait) => wait === undefined)).toHaveLength(40);
    expect(decisions.find((wait) => wait !== undefined)).toBeGreaterThan(1_000);
  });

  it("reject a call without a query to the store if the store just rejected the same", async () => {
    using limiter = limiterAt(port);
    await until("the store is reached", generousMs, () => limiter.isShared());
    expect(limiter.waitFor("poor", 1_000, rates)).toBeUndefined();
    expect(await limiter.acquire("poor", 900, rates)).toBeUndefined();
    expect(await limiter.acquire("poor", 500, rates)).toBeGreaterThan(300_000);
    expect(limiter.waitFor("poor", 500, rates)).toBeGreaterThan(300_000);
    expect(limiter.waitFor("poor", 50, rates)).toBeUndefined();
    expect(limiter.waitFor("another", 500, rates)).toBeUndefined();
  });

  it("enforce debt incurred at one replica at all replicas, up to a full burst", async () => {
    using first = limiterAt(port);
    using secondLimiter = limiterAt(port);
    await until("both replicas reach the store", generousMs, () => first.isShared() && secondLimiter.isShared());
    first.owe("indebted", 10_000, rates);
    let wait: number | undefined;
    await until("the other replica knows the debt", generousMs, async () => {
      wait = await secondLimiter.acquire("indebted", 1, rates);
      return wait !== undefined;
    });
    expect(wait).toBeGreaterThan(990_000);
    expect(wait).toBeLessThanOrEqual(1_001_000);
  });

  it("after a raise, limit the wait to what the current rates require", async () => {
    using limiter = limiterAt(port);
    await until("the store is reached", generousMs, () => limiter.isShared());
    const raised = {
      requestsPerSecond: 1_000,
      requestBurst: 40,
      computeUnitsPerSecond: 10_000,
      computeUnitBurst: 1_000,
    };
    expect(await limiter.acquire("raised", 1_000, rates)).toBeUndefined();
    expect(await limiter.acquire("raised", 1, rates)).toBeGreaterThan(900);
    expect(limiter.waitFor("raised", 1, rates)).toBeGreaterThan(900);
    expect(limiter.waitFor("raised", 1, raised)).toBeUndefined();
    const wait = await limiter.acquire("raised", 1, raised);
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(101);
    await until(
      "the caller is admitted",
      generousMs,
      async () => (await limiter.acquire("raised", 1, raised)) === undefined,
    );
  });
});

describe.skipIf(!hasRedis)(`a store that becomes unavailable${why}`, () => {
  it("makes each replica enforce limits on its own, and log that once, until it is back", async () => {
    const [port = 0] = await findFreePorts(1);
    const given = {
      tiers: { public: { ...rates, requestsPerSecond: 0.001, requestBurst: 5, concurrency: 10 } },
      rateStore: { redisUrl: `redis://127.0.0.1:${port}`, timeoutMs: 5_000 },
    };
    const isHeld = "rate limits apply across replicas";
    const isAlone = "the rate store is not responding; each replica limits rates on its own";
    const lines: string[] = [];
    const written = new PassThrough().on("data", (line: Buffer) => lines.push(line.toString()));
    const reported = (message: string) => lines.filter((line) => line.includes(message)).length;
    const first = await startRedis(port);
    await using node = await startFakeNode();
    await using one = await startTestGateway(node, given, pino(written));
    await using other = await startTestGateway(node, given);
    const coinbase = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';
    const statuses = async () => {
      const all: number[] = [];
      for (const { url } of [one, other, one, other, one, other, one, other])
        all.push((await post(url, coinbase)).status);
      return all;
    };
    await until("the store is reached", generousMs, () => reported(isHeld) === 1);
    await one.shows("gatehouse_gateway_rate_store_connected 1");
    await until("both have read their limit from it", generousMs, async () =>
      (await statuses()).every((status) => status === 429),
    );
    await first[Symbol.asyncDispose]();
    expect(await statuses()).toEqual(Array.from({ length: 8 }, () => 200));
    await post(one.url, coinbase);
    expect((await post(one.url, coinbase)).status).toBe(429);
    expect(reported(isAlone)).toBe(1);
    await one.shows("gatehouse_gateway_rate_store_connected 0");

    await using secondResources = new AsyncDisposableStack();
    secondResources.use(await startRedis(port));
    await until("the store is reached again", generousMs, () => reported(isHeld) === 2);
    await until("both have read their limit from it", generousMs, async () =>
      (await statuses()).every((status) => status === 429),
    );
    expect(reported(isAlone)).toBe(1);
  });
});

describe("rate limits while the store is unavailable", () => {
  it("are enforced per process", async () => {
    using limiter = limiterAt((await findFreePorts(1))[0] ?? 0);
    const decisions = await Promise.all(Array.from({ length: 60 }, () => limiter.acquire("a", 1, rates)));
    expect(decisions.filter((wait) => wait === undefined)).toHaveLength(40);
  });
});
