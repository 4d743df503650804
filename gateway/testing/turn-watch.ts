import { Registry } from "prom-client";
import { createLog } from "#daemon/log/log.ts";
import { ResponseCache } from "../reads/cache/response-cache.ts";
import { Head } from "../chain/head.ts";
import { createMessageHandler } from "../calls/message-handler.ts";
import { NodeReads } from "../reads/node-reads.ts";
import { finishedFlow, type ResponseSink } from "../responses/response-sink.ts";
import { LoadGate } from "../limits/load-gate.ts";
import { SharedTurns } from "../wire/shared-turns.ts";
import { createProcessRateLimiter } from "../limits/rate-limiter.ts";
import { rememberChecks } from "../limits/checked-params.ts";
import { createPrometheusMeter } from "../observe/call-metrics.ts";
import { createPolicy } from "../policy.ts";
import { createNodeBatches } from "../upstream/node-batches.ts";
import type { NodeCall } from "../upstream/node-call.ts";
import { limitlessTier } from "./limitless-tier.ts";
import { roomyMemory } from "./unlimited-memory.ts";
import { testSettings } from "./test-gateway.ts";

/** Thread time spent on a message, in milliseconds. */
export type TurnTimes = Readonly<{
  /** The longest event loop tick. */
  longestMs: number;
  /** All ticks together. */
  allMs: number;
  /** Start of the response. */
  answer: string;
}>;

const shownLength = 200;

const now = () => performance.now();
const silent = createLog({ service: "test", level: "silent" });

/**
 * Creates a function that measures the gateway's own work on a message: everything from the message's bytes to the bytes of the calls to
 * the node, and back from the node's response, with default limits and a caller with an unlimited rate. Only sockets are excluded; bytes
 * that would be written to a socket are copied instead.
 */
export function watchTurns(): (body: Buffer) => Promise<TurnTimes> {
  const policy = createPolicy(testSettings({ tiers: { public: { ...limitlessTier, splitBlocks: 2_000 } } }));
  const head = new Head({ staleAfterMs: 1e9 }, { now, wallClock: Date.now });
  head.advance({ number: 100_000n, hash: '"0x1"' });
  const waiting: (() => void)[] = [];
  const later = (run: () => void) => void waiting.push(run);
  const asked: NodeCall[] = [];
  const pool = {
    send: (call: NodeCall) => {
      // Copies the bytes, as a socket would.
      Buffer.from(call.body, "latin1");
      asked.push(call);
      return { ...finishedFlow, join: () => undefined };
    },
  };
  const cache = new ResponseCache({ totalBytes: 1e8, entryBytes: 262_144 });
  const reads = new NodeReads({ totalBytes: 1e8, entryBytes: 262_144 }, { pool, cache, head });
  const calls = {
    policy: () => policy,
    limiter: createProcessRateLimiter({ clients: 10 }, { now }),
    gate: new LoadGate(testSettings().upstream, { loopDelayMs: () => 0 }),
    head,
    checks: rememberChecks(),
    reads,
    meter: createPrometheusMeter(new Registry()),
    nodeFitness: () => "fit" as const,
    now,
  };
  const turns = new SharedTurns({ now, later });
  const nodeBatches = createNodeBatches({ items: 100, responseBytes: 8_388_608 }, { pool, log: silent, now, turns });
  const handle = createMessageHandler({ ...calls, plainReads: reads, nodeBatches, tracing: undefined, turns });
  const caller = { key: "a", listener: "internal" as const, tierName: "public" };
  return async (body) => {
    let answer = "";
    let longestMs = 0;
    let allMs = 0;
    const timed = async (run: () => void) => {
      const startedAt = now();
      const used = process.threadCpuUsage();
      run();
      // Runs the work left for the end of the tick.
      await undefined;
      const { user, system } = process.threadCpuUsage(used);
      // On a busy machine, the clock advances while another process runs, and the thread's own time is reported slightly late.
      const ms = Math.min(now() - startedAt, (user + system) / 1_000);
      longestMs = Math.max(longestMs, ms);
      allMs += ms;
    };
    const sink = createCopyingSink((text) => {
      if (answer.length < shownLength) answer += text.slice(0, shownLength);
    });
    await timed(() => handle(body, { caller, memory: roomyMemory, traceContext: undefined }, sink));
    while (waiting.length + asked.length > 0) {
      const run = waiting.shift() ?? createAnswerStep(asked.shift());
      await timed(run);
    }
    return { longestMs, allMs, answer };
  };
}

/** Creates a sink that processes a response like a connection does: it encodes text as bytes and copies the node's bytes. */
function createCopyingSink(took: (start: string) => void): ResponseSink {
  const whole = (json: string) => took(Buffer.from(json, "latin1").toString("latin1", 0, shownLength));
  return {
    text: whole,
    bytes: (body) => took(Buffer.from(body).toString("latin1", 0, shownLength)),
    begin: () => undefined,
    chunk: (bytes) => {
      took(Buffer.from(bytes).toString("latin1", 0, shownLength));
      return true;
    },
    end: () => undefined,
    fail: () => took("broken"),
  };
}

const answer = (id: string) => `{"jsonrpc":"2.0","id":${id},"result":"0x1"}`;

/** Builds the node's response to a call or a batch, and returns a function that delivers it. */
function createAnswerStep(call: NodeCall | undefined): () => void {
  if (call === undefined) return () => undefined;
  const { id, body, sink } = call;
  const ids = body.startsWith("[") ? [...body.matchAll(/"id":(\d+),"method"/g)].map(([, one = ""]) => one) : undefined;
  const bytes = Buffer.from(ids === undefined ? answer(id) : `[${ids.map(answer).join(",")}]`, "latin1");
  return () => sink.bytes(bytes, "node");
}
