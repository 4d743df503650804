import { Registry } from "prom-client";
import { createLog } from "#daemon/log.ts";
import { makeAnswerCache } from "../cache/answer-cache.ts";
import { makeHead } from "../cache/head.ts";
import { openRpcTexts } from "../catalogue/openrpc-texts.ts";
import { makeCallHandler } from "../dispatch/call-handler.ts";
import { makeMessageCharge } from "../dispatch/large-message.ts";
import { makeMessageHandler } from "../dispatch/message-handler.ts";
import { makeNodeReads } from "../dispatch/node-reads.ts";
import { textSink } from "../dispatch/text-sink.ts";
import { makeLoadGate } from "../limits/load-gate.ts";
import { processRateLimiter } from "../limits/rate-limiter.ts";
import { rememberChecks } from "../limits/remembered-checks.ts";
import { prometheusMeter } from "../observe/call-metrics.ts";
import { makePolicy } from "../policy/policy.ts";
import { makeNodeBatches } from "../upstream/node-batches.ts";
import type { NodeCall } from "../upstream/node-call.ts";
import { limitlessTier } from "./limitless-tier.ts";
import { roomyMemory } from "./roomy-memory.ts";
import { testSettings } from "./test-gateway.ts";

/** What a message cost the thread, in milliseconds. */
export type TurnTimes = Readonly<{
  /** The longest turn of the event loop. */
  longestMs: number;
  /** All of its turns together. */
  allMs: number;
  answer: string;
}>;

const now = () => performance.now();
const silent = createLog({ service: "test", level: "silent" });

/**
 * Makes a meter of the gateway's own work on a message: everything from the bytes of a message to those of the calls that the node gets, and
 * back from the node's answer, with default limits and a caller whose rate never ends. Only sockets are left out; what would be written
 * to one is copied instead.
 */
export function watchTurns(): (body: Buffer) => Promise<TurnTimes> {
  const policy = makePolicy(testSettings({ tiers: { public: { ...limitlessTier, splitBlocks: 2_000 } } }));
  const head = makeHead({ staleAfterMs: 1e9 }, { now, wallClock: Date.now });
  head.advance({ number: 100_000n, hash: '"0x1"' });
  const waiting: (() => void)[] = [];
  const later = (run: () => void) => void waiting.push(run);
  const pool = { send: (call: NodeCall) => answerLater(call, later) };
  const cache = makeAnswerCache({ totalBytes: 1e8, entryBytes: 262_144 });
  const calls = {
    policy: () => policy,
    limiter: processRateLimiter({ clients: 10 }, { now }),
    gate: makeLoadGate({ loopDelayMs: () => 0 }),
    head,
    checks: rememberChecks(),
    reads: makeNodeReads(
      { cache: true, coalesce: true, entryBytes: 262_144, responseBytes: () => 1e8 },
      { pool, cache, head },
    ),
    meter: prometheusMeter(new Registry()),
    nodeFitness: () => "fit" as const,
    openRpc: openRpcTexts(),
    now,
  };
  const handle = makeMessageHandler({
    policy: () => policy,
    handle: makeCallHandler(calls),
    gate: calls.gate,
    nodeBatches: makeNodeBatches({ items: 100, responseBytes: 8_388_608 }, { pool, log: silent, now }),
    charge: makeMessageCharge(calls),
    tracing: undefined,
    turns: { now, later },
  });
  const caller = { key: "a", listener: "internal" as const, tierName: "public" };
  return async (body) => {
    let answer = "";
    let longestMs = 0;
    let allMs = 0;
    const timed = async (run: () => void) => {
      const startedAt = now();
      run();
      // What was left for the end of the turn.
      await undefined;
      const ms = now() - startedAt;
      longestMs = Math.max(longestMs, ms);
      allMs += ms;
    };
    const sink = textSink(1e8, roomyMemory, (given) => {
      answer = typeof given === "string" ? given : Buffer.from(given.text, "latin1").toString("latin1");
    });
    await timed(() => handle(body, { caller, memory: roomyMemory, traceContext: undefined }, sink));
    for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) await timed(run);
    return { longestMs, allMs, answer };
  };
}

const answer = (id: string) => `{"jsonrpc":"2.0","id":${id},"result":"0x1"}`;

/** A node that answers every call and batch in a later turn. The bytes that it is sent are copied, as a socket would. */
function answerLater({ id, body, sink }: NodeCall, later: (run: () => void) => void) {
  const sent = Buffer.from(body, "latin1");
  const ids = sent[0] === 0x5b ? [...body.matchAll(/"id":(\d+),"method"/g)].map(([, one = ""]) => one) : undefined;
  const text = ids === undefined ? answer(id) : `[${ids.map(answer).join(",")}]`;
  later(() => sink.whole(Buffer.from(text, "latin1")));
  return { resume: () => undefined, cancel: () => undefined };
}
