import { Redis, type RedisOptions, AbstractConnector } from "ioredis";
import type { Logger } from "#daemon/log/log.ts";
import { LatestEntries, type RateDecision, type RateLimiter, type Rates } from "./rate-limiter.ts";
import { createConnection } from "node:net";
import { connect as createTlsConnection } from "node:tls";
import { buildServerName } from "#daemon/http/address.ts";
import { lookupName } from "#daemon/http/name-lookup.ts";

export type RedisRateLimiterOptions = Readonly<{ url: string; timeoutMs: number; clients: number }>;

/** The store's last rejection of a caller, at these rates. */
type Rejection = Readonly<{ costUnits: number; rates: Rates; untilMs: number }>;

/**
 * The generic cell rate algorithm over two allowances, in one atomic script. Times are in microseconds on the store's own clock, so the
 * replicas' clocks do not matter. A time later than these rates allow is corrected: it was left over from lower rates, or from before the
 * store's clock was set back. Returns 0, or the microseconds until the call would fit. KEYS[1]: account. ARGV: refill times of a request
 * and of a unit in microseconds, the bursts, the call's units.
 */
const script = `
local time = redis.call("TIME")
local now = time[1] * 1000000 + time[2]
local account = redis.call("HMGET", KEYS[1], "r", "u")
local requestsBefore = tonumber(account[1] or "0")
local unitsBefore = tonumber(account[2] or "0")
local requestsAt = math.min(requestsBefore, now + ARGV[3] * ARGV[1])
local unitsAt = math.min(unitsBefore, now + 2 * ARGV[4] * ARGV[2])
local requests = math.max(requestsAt, now) + ARGV[1]
local units = math.max(unitsAt, now) + math.min(ARGV[5], ARGV[4]) * ARGV[2]
local wait = math.max(requests - now - ARGV[3] * ARGV[1], units - now - ARGV[4] * ARGV[2])
if wait > 1 then
  if requestsAt == requestsBefore and unitsAt == unitsBefore then return math.ceil(wait) end
  requests = requestsAt
  units = unitsAt
else
  wait = 0
end
redis.call("HSET", KEYS[1], "r", string.format("%.3f", requests), "u", string.format("%.3f", units))
redis.call("PEXPIRE", KEYS[1], math.ceil((math.max(requests, units) - now) / 1000) + 1000)
return math.ceil(wait)
`;

/** Charges units, with a max debt of one burst. KEYS[1]: account. ARGV: refill time of a unit in microseconds, the burst, the units. */
const debtScript = `
local time = redis.call("TIME")
local now = time[1] * 1000000 + time[2]
local account = redis.call("HMGET", KEYS[1], "r", "u")
local requests = tonumber(account[1] or "0")
local units = math.min(now + 2 * ARGV[2] * ARGV[1], math.max(tonumber(account[2] or "0"), now) + ARGV[3] * ARGV[1])
redis.call("HSET", KEYS[1], "u", string.format("%.3f", units))
redis.call("PEXPIRE", KEYS[1], math.ceil((math.max(requests, units) - now) / 1000) + 1000)
`;

declare module "ioredis" {
  // Commands that defineCommand adds.
  interface RedisCommander {
    gatehouseAcquire(
      key: string,
      requestMicros: number,
      unitMicros: number,
      requestBurst: number,
      unitBurst: number,
      units: number,
    ): Promise<number>;
    gatehouseOwe(key: string, unitMicros: number, unitBurst: number, units: number): Promise<null>;
  }
}

const accountKey = (key: string) => `gatehouse:rate:${key}`;

/**
 * Limits rates across replicas through a Redis-protocol store. If the store does not respond in time, the process decides locally and logs
 * this. A call that the store's last rejection of the same caller rules out is not sent to the store.
 */
export function createRedisRateLimiter(
  { url, timeoutMs, clients }: RedisRateLimiterOptions,
  { log, fallback, now }: Readonly<{ log: Logger; fallback: RateLimiter; now: () => number }>,
): RateLimiter & Disposable & Required<Pick<RateLimiter, "isShared">> {
  const redis = connectRedis({ url, timeoutMs });
  const rejections = new LatestEntries<Rejection>(clients);
  let isShared = false;
  let wasShared: boolean | undefined;
  const report = (shared: boolean, error?: unknown) => {
    isShared = shared;
    if (shared === wasShared) return;
    wasShared = shared;
    if (shared) log.info({ event: "rate-store-connected" }, "rate limits apply across replicas");
    else
      log.warn(
        { event: "rate-store-lost", err: error },
        "the rate store is not responding; each replica limits rates on its own",
      );
  };
  redis.on("ready", () => report(true));
  redis.on("error", (error) => report(false, error));
  const acquire = async (key: string, costUnits: number, rates: Rates): Promise<RateDecision> => {
    try {
      const micros = await redis.gatehouseAcquire(
        accountKey(key),
        1e6 / rates.requestsPerSecond,
        1e6 / rates.computeUnitsPerSecond,
        rates.requestBurst,
        rates.computeUnitBurst,
        costUnits,
      );
      report(true);
      if (micros <= 0) return undefined;
      rejections.set(key, { costUnits, rates, untilMs: now() + micros / 1_000 });
      return micros / 1_000;
    } catch (error) {
      report(false, error);
      return fallback.acquire(key, costUnits, rates);
    }
  };
  const waitFor: RateLimiter["waitFor"] = (key, costUnits, rates) => {
    if (!isShared) return fallback.waitFor(key, costUnits, rates);
    const rejection = rejections.get(key);
    if (rejection?.rates !== rates || costUnits < rejection.costUnits) return undefined;
    const leftMs = rejection.untilMs - now();
    return leftMs > 0 ? leftMs : undefined;
  };
  const owe: RateLimiter["owe"] = (key, costUnits, rates) => {
    const unitMicros = 1e6 / rates.computeUnitsPerSecond;
    redis.gatehouseOwe(accountKey(key), unitMicros, rates.computeUnitBurst, costUnits).then(
      () => report(true),
      (error: unknown) => {
        report(false, error);
        fallback.owe(key, costUnits, rates);
      },
    );
  };
  const debtMs: RateLimiter["debtMs"] = (key, rates) => (isShared ? undefined : fallback.debtMs(key, rates));
  return { acquire, waitFor, owe, debtMs, isShared: () => isShared, [Symbol.dispose]: () => redis.disconnect() };
}

/** Creates a store client whose response timeout does not exceed the time that a call may wait. */
function connectRedis({ url, timeoutMs }: Pick<RedisRateLimiterOptions, "url" | "timeoutMs">): Redis {
  return new Redis(url, {
    // ioredis passes these options to the connector, although its types don't declare this.
    Connector: RedisConnector as RedisOptions["Connector"],
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: timeoutMs,
    retryStrategy: (attempts) => Math.min(attempts * 100, 2_000),
    scripts: { gatehouseAcquire: { lua: script, numberOfKeys: 1 }, gatehouseOwe: { lua: debtScript, numberOfKeys: 1 } },
  });
}

/**
 * Connects to a Redis-protocol store like ioredis' own connector, but resolves the host name in the same way as the process's other
 * sockets. ioredis has no option for this: it retries every two seconds, and while a name server does not respond, each retry would block
 * another of the few threads in the process's pool.
 */
export class RedisConnector extends AbstractConnector {
  readonly #target: Readonly<{ host: string; port: number; lookup: typeof lookupName }>;
  readonly #isSecure: boolean;

  constructor({ host = "localhost", port = 6_379, tls, disconnectTimeout = 2_000 }: RedisOptions) {
    super(disconnectTimeout);
    this.#target = { host, port, lookup: lookupName };
    this.#isSecure = tls !== undefined;
  }

  override async connect() {
    this.connecting = true;
    // The code that creates the client attaches its event listeners only after this await.
    await Promise.resolve();
    if (!this.connecting) throw new Error("Connection is closed.");
    const endpoint = this.#target;
    this.stream = this.#isSecure
      ? createTlsConnection({ ...endpoint, ...buildServerName(endpoint.host) })
      : createConnection(endpoint);
    this.stream.once("error", (error) => (this.firstError = error));
    return this.stream;
  }
}
