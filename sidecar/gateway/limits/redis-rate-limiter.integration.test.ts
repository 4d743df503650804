import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLog } from "#daemon/log.ts";
import { until } from "../testing/test-gateway.ts";
import { processRateLimiter } from "./rate-limiter.ts";
import { redisRateLimiter } from "./redis-rate-limiter.ts";

const hasRedis = spawnSync("redis-server", ["--version"]).status === 0;
const rates = { requestsPerSecond: 0.5, requestBurst: 40, computeUnitsPerSecond: 1, computeUnitBurst: 1_000 };
const log = createLog({ service: "test", level: "silent" });

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function limiterAt(port: number) {
  const fallback = processRateLimiter({ clients: 10 }, { now: () => performance.now() });
  return redisRateLimiter({ url: `redis://127.0.0.1:${port}`, timeoutMs: 2_000 }, { log, fallback });
}

const why = hasRedis ? "" : " (skipped: no redis-server on PATH)";

describe.skipIf(!hasRedis)(`rate limits in a store${why}`, () => {
  let port: number;
  let server: ReturnType<typeof spawn>;
  beforeAll(async () => {
    port = await freePort();
    server = spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", "--save", ""], { stdio: "ignore" });
  });
  afterAll(async () => {
    server.kill();
    if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
  });

  it("hold across replicas, atomically", async () => {
    using first = limiterAt(port);
    using second = limiterAt(port);
    await until("both replicas reach the store", () => first.isShared() && second.isShared());
    const decisions = await Promise.all(
      Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? first : second).take("shared", 1, rates)),
    );
    expect(decisions.filter((wait) => wait === undefined)).toHaveLength(40);
    expect(decisions.find((wait) => wait !== undefined)).toBeGreaterThan(1_000);
  });
});

describe("rate limits while the store is away", () => {
  it("are the process's own", async () => {
    using limiter = limiterAt(await freePort());
    const decisions = await Promise.all(Array.from({ length: 60 }, () => limiter.take("a", 1, rates)));
    expect(decisions.filter((wait) => wait === undefined)).toHaveLength(40);
  });
});
