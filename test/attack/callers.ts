import { Agent, request as httpRequest } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Target } from "./attacks/attack.ts";
import { buildCall as call } from "./attacks/attacker.ts";

/** Number of callers, and the interval between two requests of a caller. */
export type Pace = Readonly<{ count: number; everyMs: number }>;

/** Measured callers, each from its own address. */
const pace: Pace = { count: 4, everyMs: 40 };
/** Each caller opens a new connection after this many requests. */
const requestsOfConnection = 25;
/** Max wait of a caller; a request without a response by then has failed. */
const answerTimeoutMs = 10_000;

/** One request of a caller: its start, its latency, and its fault, if any. */
export type Sample = Readonly<{ atMs: number; tookMs: number; failure: string | undefined }>;

/** Running callers. Disposing of them stops them. */
export type Callers = AsyncDisposable &
  Readonly<{
    /** Requests sent between two times, including those still waiting for a response. */
    between: (fromMs: number, toMs: number) => readonly Sample[];
  }>;

const createAgent = () => new Agent({ keepAlive: true, maxSockets: 1 });

/**
 * Starts well-behaved callers: wallets and a small indexer, together 100 requests per second, with cached, distinct and
 * batched reads.
 */
export function startCallers(target: Target, addresses: string): Callers {
  const works = Array.from({ length: pace.count }, (_, caller) => ({
    agent: createAgent(),
    sent: caller * 1_000_000_000,
  }));
  const callers = startPacedCallers(pace, (caller) => {
    const work = works[caller];
    if (work === undefined) throw new RangeError(`there is no caller ${caller}`);
    work.sent += 1;
    if (work.sent % requestsOfConnection === 0) {
      work.agent.destroy();
      work.agent = createAgent();
    }
    return ask(target, `${addresses}.${caller + 1}`, work);
  });
  return {
    between: callers.between,
    [Symbol.asyncDispose]: async () => {
      await callers[Symbol.asyncDispose]();
      for (const { agent } of works) agent.destroy();
    },
  };
}

/**
 * Starts callers that send requests one after the other, at a fixed pace. `deed` sends one request, and returns the response's fault, or
 * undefined.
 */
export function startPacedCallers(
  { count, everyMs }: Pace,
  deed: (caller: number) => Promise<string | undefined>,
): Callers {
  const samples: Sample[] = [];
  const underWay = new Map<number, number>();
  const stop = new AbortController();
  const running = Array.from({ length: count }, async (_, caller) => {
    await delay((caller * everyMs) / count);
    while (!stop.signal.aborted) {
      const atMs = performance.now();
      underWay.set(caller, atMs);
      const failure = await deed(caller);
      const tookMs = performance.now() - atMs;
      underWay.delete(caller);
      if (!stop.signal.aborted) samples.push({ atMs, tookMs, failure });
      await delay(Math.max(1, everyMs - tookMs), undefined, { signal: stop.signal }).catch(() => undefined);
    }
  });
  return {
    between: (fromMs, toMs) => {
      const waiting = [...underWay.values()].map((atMs) => ({ atMs, tookMs: toMs - atMs, failure: undefined }));
      return [...samples, ...waiting]
        .flatMap((sample) => asOften(sample, everyMs))
        .filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all(running);
    },
  };
}

/**
 * A caller sends nothing while it waits for a response. The requests that it would have sent at its normal pace would have waited as well,
 * so each counts with the remaining time; otherwise, a stall of seconds would count as one slow request among many.
 */
function asOften(sample: Sample, everyMs: number): readonly Sample[] {
  const missedFloor = Math.floor(sample.tookMs / everyMs);
  const later = Array.from({ length: missedFloor }, (_, at) => {
    const lateMs = (at + 1) * everyMs;
    return { atMs: sample.atMs + lateMs, tookMs: sample.tookMs - lateMs, failure: undefined };
  });
  return [sample, ...later];
}

function buildBody(sent: number): string {
  const address = `0x${sent.toString(16).padStart(40, "0")}`;
  switch (sent % 5) {
    case 0:
      return call(sent, "eth_chainId", "[]");
    case 1:
      return call(sent, "eth_blockNumber", "[]");
    case 2:
      return call(
        sent,
        "eth_call",
        `[{"to":"${address}","data":"0x70a08231${address.slice(2).padStart(64, "0")}"},"latest"]`,
      );
    case 3:
      return `[${Array.from({ length: 5 }, (_, at) => call(at, "eth_getBalance", `["${address.slice(0, -1)}${at}","latest"]`)).join(",")}]`;
    default:
      return call(sent, "eth_getBalance", `["${address}","latest"]`);
  }
}

/** Sends one request; returns the response's fault, or undefined. */
function ask(
  { host, port }: Target,
  localAddress: string,
  { agent, sent }: Readonly<{ agent: Agent; sent: number }>,
): Promise<string | undefined> {
  const body = buildBody(sent);
  return new Promise((resolve) => {
    const headers = { "Content-Type": "application/json", "Content-Length": body.length };
    const options = { host, port, localAddress, agent, method: "POST", headers, timeout: answerTimeoutMs };
    const asked = httpRequest(options, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", (error) => resolve(error.message));
      response.on("end", () => {
        const text = Buffer.concat(parts).toString("utf8");
        if (response.statusCode !== 200) resolve(`HTTP ${response.statusCode}: ${text.slice(0, 200)}`);
        else resolve(text.includes('"error"') || !text.includes('"result"') ? text.slice(0, 200) : undefined);
      });
    });
    asked.on("timeout", () => asked.destroy(new Error(`no answer within ${answerTimeoutMs} ms`)));
    asked.on("error", (error) => resolve(error.message));
    asked.end(body);
  });
}
