import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Head } from "../chain/head.ts";
import { LoadGate } from "../limits/load-gate.ts";
import { rememberChecks } from "../limits/checked-params.ts";
import { SharedTurns } from "../wire/shared-turns.ts";
import { createProcessRateLimiter } from "../limits/rate-limiter.ts";
import { createPolicy } from "../policy.ts";
import { messageBytes } from "../testing/generated-messages.ts";
import { roomyMemory } from "../testing/unlimited-memory.ts";
import { testSettings } from "../testing/test-gateway.ts";
import { finishedFlow } from "../responses/response-sink.ts";
import { createMessageHandler } from "./message-handler.ts";
import type { NodeRead } from "../reads/node-read.ts";
import { createTextSink } from "../responses/text-sink.ts";

const generous = {
  requestsPerSecond: 1e6,
  requestBurst: 1e6,
  computeUnitsPerSecond: 1e9,
  computeUnitBurst: 1e9,
  concurrency: 100,
};

type Given = Readonly<{
  /** Milliseconds that pass with each reading of the clock. */
  lookMs?: number;
  limits?: object;
  tier?: object;
}>;

function startHandler({ lookMs = 0, limits = { batchItems: 20, depth: 40 }, tier }: Given = {}) {
  const policy = createPolicy(testSettings({ tiers: { public: { ...generous, ...tier } }, limits }));
  let atMs = 0;
  const now = () => (atMs += lookMs);
  const waiting: (() => void)[] = [];
  const head = new Head({ staleAfterMs: 1_000 }, { now, wallClock: Date.now });
  head.advance({ number: 1_000n, hash: '"0x1"' });
  const gate = new LoadGate(testSettings().upstream, { loopDelayMs: () => 0 });
  const passed: string[] = [];
  const limiter = createProcessRateLimiter({ clients: 10 }, { now });
  const calls = {
    policy: () => policy,
    limiter,
    gate,
    head,
    checks: rememberChecks(),
    reads: {
      cached: () => undefined,
      lasting: () => undefined,
      read: (read: NodeRead) => {
        passed.push(read.key);
        read.text(`{"jsonrpc":"2.0","id":${read.id},"result":"0x1"}`, "node");
        return finishedFlow;
      },
    },
    meter: { call: () => undefined, node: () => undefined, limited: () => undefined },
    nodeFitness: () => "fit" as const,
    now,
  };
  const nodeBatches = {
    items: () => 1,
    open: () => ({
      send: () => ({ ...finishedFlow, join: () => undefined }),
      gather: () => undefined,
      release: () => undefined,
      addPlain: () => expect.unreachable("no read is plain here"),
    }),
  };
  const turns = new CountedTurns({ now, later: (run) => void waiting.push(run) });
  const handleMessage = createMessageHandler({
    ...calls,
    plainReads: undefined,
    nodeBatches,
    tracing: undefined,
    turns,
  });
  const caller = { key: "a", listener: "public" as const, tierName: "public" };
  const begin = (body: Buffer) => {
    const texts: string[] = [];
    const sink = createTextSink(10_000_000, roomyMemory, (answer) =>
      texts.push(typeof answer === "string" ? answer : answer.text),
    );
    const flow = handleMessage(body, { caller, memory: roomyMemory, traceContext: undefined }, sink);
    return { texts, flow };
  };
  /** Runs the later ticks, and counts those that had work. */
  const turn = () => {
    turns.used = 0;
    for (let run = waiting.shift(); run !== undefined; run = waiting.shift()) run();
    return turns.used;
  };
  const ask = (body: Buffer) => {
    const { texts } = begin(body);
    turn();
    return texts;
  };
  return { ask, begin, turn, passed, gate, limiter, policy };
}

class CountedTurns extends SharedTurns {
  used = 0;

  override wait(caller: string, goOn: () => void): void {
    super.wait(caller, () => {
      this.used += 1;
      goOn();
    });
  }
}

const balance = (size: number) => `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":["${"x".repeat(size)}"]}`;

const refusal = (bytes: number, limit: number, method: string) =>
  `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params too large: ${bytes} bytes, limited to ${limit} bytes for ${method}"}}`;

const batchOf = (count: number, size: number) =>
  Buffer.from(`[${Array.from({ length: count }, () => balance(size)).join(",")}]`);

describe("the message handler", () => {
  it("answers whatever comes once, with JSON-RPC or with nothing, and lets no call stay under way", () => {
    const { ask, passed, gate } = startHandler();
    const seed = Number(process.env["GATEHOUSE_FUZZ_SEED"] ?? Date.now() % 2 ** 31);
    fc.assert(
      fc.property(messageBytes, (body) => {
        passed.length = 0;
        const texts = ask(body);
        expect(texts).toHaveLength(1);
        expect(gate.callsInFlight).toBe(0);
        for (const call of passed) JSON.parse(call.slice(call.indexOf(" ")));
        if (texts[0] === "") return;
        const answer = JSON.parse(Buffer.from(texts[0]!, "latin1").toString("utf8")) as object | object[];
        for (const one of Array.isArray(answer) ? answer : [answer]) {
          expect(one).toMatchObject({ jsonrpc: "2.0" });
          expect("result" in one !== "error" in one && "id" in one).toBe(true);
        }
      }),
      { numRuns: Number(process.env["GATEHOUSE_FUZZ_RUNS"] ?? 1_500), seed },
    );
  }, 3_600_000);

  it("reads and answers a long batch in turns, and a short one at once while that is quick", () => {
    const slow = startHandler({ lookMs: 0.4, limits: {} });
    const long = slow.begin(batchOf(100, 1_000));
    expect(long.texts).toEqual([]);
    expect(slow.turn()).toBeGreaterThan(30);
    expect((JSON.parse(long.texts[0]!) as object[]).length).toBe(100);
    expect(slow.begin(batchOf(127, 10)).texts).toHaveLength(1);
    expect(slow.turn()).toBe(0);
    const short = slow.begin(batchOf(200, 10));
    expect(slow.turn()).toBe(1);
    expect((JSON.parse(short.texts[0]!) as object[]).length).toBe(200);
  });

  it("gives a long message up when its reader goes, in the middle of reading or of answering", () => {
    for (const turnsBefore of ["none", "some"]) {
      const { begin, turn, passed, gate } = startHandler({ lookMs: 1, limits: {} });
      const { texts, flow } = begin(batchOf(100, 1_000));
      if (turnsBefore === "none") flow.cancel();
      flow.resume();
      flow.cancel();
      turn();
      expect([texts, passed, gate.callsInFlight]).toEqual([[], [], 0]);
    }
  });

  it("charges each whole KiB of a call, and a long message before any of it is read", () => {
    const tier = { computeUnitsPerSecond: 0.001, computeUnitBurst: 26 + 2 * 60 };
    const single = startHandler({ tier });
    expect(single.ask(Buffer.from(balance(30_000)))[0]).toContain('"result"');
    expect(single.ask(Buffer.from(balance(34_000)))[0]).toMatch(
      /"id":1,.*"code":-32005,"message":"rate limit exceeded/,
    );
    expect(single.ask(Buffer.from(balance(10)))[0]).toContain('"result"');
    const long = startHandler({ tier: { ...tier, computeUnitBurst: 200 }, limits: {} });
    expect(long.ask(Buffer.concat([Buffer.from("no JSON"), Buffer.alloc(90_000)]))[0]).toContain("parse error");
    expect(long.ask(batchOf(2, 40_000))[0]).toMatch(/"id":null,.*"code":-32005,"message":"rate limit exceeded/);
  });

  it("rejects a call that waited, when the responses that came meanwhile cost more than its caller has", async () => {
    const { begin, passed, gate, limiter, policy } = startHandler({ tier: { concurrency: 1, computeUnitBurst: 100 } });
    const tier = policy.tiers.get("public")!;
    const { overload } = policy.settings;
    for (const owed of [0, 250]) {
      expect(gate.enter("a", tier, 10, overload)).toBe(undefined);
      const { texts } = begin(Buffer.from(balance(10)));
      limiter.owe("a", owed, tier);
      gate.leave("a", 10, overload);
      await Promise.resolve();
      expect(texts[0]).toContain(owed === 0 ? '"result"' : "rate limit exceeded");
    }
    expect([passed.length, gate.callsInFlight, gate.callsWaiting]).toEqual([1, 0, 0]);
  });

  it("refuses parameters that are longer than the method can need, by the method's name", () => {
    const { ask } = startHandler({ limits: {} });
    const call = (method: string, size: number) =>
      ask(Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":["${"x".repeat(size - 4)}"]}`))[0];
    expect(call("eth_getBalance", 4_096)).toContain('"result"');
    expect(call("eth_getBalance", 4_097)).toBe(refusal(4_097, 4_096, "eth_getBalance"));
    expect(call("eth_getLogs", 131_073)).toBe(refusal(131_073, 131_072, "eth_getLogs"));
    expect(call("eth_sendRawTransaction", 500_000)).toContain('"result"');
  });
});
