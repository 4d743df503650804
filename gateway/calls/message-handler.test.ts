import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { messageBytes } from "../testing/generated-messages.ts";
import { limitlessTier } from "../testing/limitless-tier.ts";
import { createTestContext, noFlow, testCaller } from "../testing/test-context.ts";
import { roomyMemory } from "../testing/unlimited-memory.ts";
import { createTextSink } from "../responses/text-sink.ts";
import { SharedTurns } from "../wire/shared-turns.ts";
import { createMessageHandler } from "./message-handler.ts";

type HandlerSetup = Readonly<{
  /** Milliseconds that pass with each clock reading. */
  checkMs?: number;
  limits?: object;
  tier?: object;
}>;

function startHandler({ checkMs = 0, limits = { batchItems: 20, depth: 40 }, tier }: HandlerSetup = {}) {
  let atMs = 0;
  const now = () => (atMs += checkMs);
  const pendingTicks: (() => void)[] = [];
  /** Calls that reached the node. */
  const passedCallers: string[] = [];
  const { context, policy } = createTestContext({
    settings: { tiers: { public: { ...limitlessTier, concurrency: 100, ...tier } }, limits },
    now,
    send: ({ id, body, sink }) => {
      passedCallers.push(body);
      sink.text(`{"jsonrpc":"2.0","id":${id},"result":"0x1"}`, "node");
      return noFlow;
    },
  });
  const turns = new CountedTurns({ now, later: (run) => void pendingTicks.push(run) });
  const handleMessage = createMessageHandler({ ...context, turns });
  const begin = (body: Buffer) => {
    const texts: string[] = [];
    const sink = createTextSink(10_000_000, roomyMemory, (received) =>
      texts.push(typeof received === "string" ? received : received.text),
    );
    const flow = handleMessage(body, { caller: testCaller, memory: roomyMemory, traceContext: undefined }, sink);
    return { texts, flow };
  };
  /** Runs later ticks until none has work; returns how many had some. */
  const turn = () => {
    turns.used = 0;
    for (let run = pendingTicks.shift(); run !== undefined; run = pendingTicks.shift()) run();
    return turns.used;
  };
  const ask = (body: Buffer) => {
    const { texts } = begin(body);
    turn();
    return texts;
  };
  return { ask, begin, turn, passedCallers, gate: context.gate, limiter: context.limiter, policy };
}

class CountedTurns extends SharedTurns {
  used = 0;

  override wait(caller: string, proceed: () => void): void {
    super.wait(caller, () => {
      this.used += 1;
      proceed();
    });
  }
}

const balance = (size: number) => `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":["${"x".repeat(size)}"]}`;

const rejection = (bytes: number, limit: number, method: string) =>
  `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params too large: ${bytes} bytes, limited to ${limit} bytes for ${method}"}}`;

const createBatch = (count: number, size: number) =>
  Buffer.from(`[${Array.from({ length: count }, () => balance(size)).join(",")}]`);

describe("the message handler", () => {
  it("responds to any input at most once, with JSON-RPC or an empty body, and leaves no call in flight", () => {
    const { ask, passedCallers, gate } = startHandler();
    const seed = Number(process.env["GATEHOUSE_FUZZ_SEED"] ?? Date.now() % 2 ** 31);
    fc.assert(
      fc.property(messageBytes, (body) => {
        passedCallers.length = 0;
        const texts = ask(body);
        expect(texts).toHaveLength(1);
        expect(gate.callsInFlight).toBe(0);
        for (const call of passedCallers) JSON.parse(Buffer.from(call, "latin1").toString("utf8"));
        if (texts[0] === "") return;
        const received = JSON.parse(Buffer.from(texts[0]!, "latin1").toString("utf8")) as object | object[];
        for (const one of Array.isArray(received) ? received : [received]) {
          expect(one).toMatchObject({ jsonrpc: "2.0" });
          expect("result" in one !== "error" in one && "id" in one).toBe(true);
        }
      }),
      { numRuns: Number(process.env["GATEHOUSE_FUZZ_RUNS"] ?? 1_500), seed },
    );
  }, 3_600_000);

  it("reads and answers a long batch over several ticks, and a short one in a single tick if that is fast enough", () => {
    const slow = startHandler({ checkMs: 0.4, limits: {} });
    const long = slow.begin(createBatch(100, 1_000));
    expect(long.texts).toEqual([]);
    expect(slow.turn()).toBeGreaterThan(30);
    expect((JSON.parse(long.texts[0]!) as object[]).length).toBe(100);
    expect(slow.begin(createBatch(127, 10)).texts).toHaveLength(1);
    expect(slow.turn()).toBe(0);
    const shortBatch = slow.begin(createBatch(200, 10));
    expect(slow.turn()).toBe(1);
    expect((JSON.parse(shortBatch.texts[0]!) as object[]).length).toBe(200);
  });

  it("abandons a long message if its client disconnects while it is read or answered", () => {
    for (const turnsBefore of ["none", "some"]) {
      const { begin, turn, passedCallers, gate } = startHandler({ checkMs: 1, limits: {} });
      const { texts, flow } = begin(createBatch(100, 1_000));
      if (turnsBefore === "none") flow.cancel();
      flow.resume();
      flow.cancel();
      turn();
      expect([texts, passedCallers, gate.callsInFlight]).toEqual([[], [], 0]);
    }
  });

  it("charges each full KiB of a call, and charges a long message before reading it", () => {
    const tier = { computeUnitsPerSecond: 0.001, computeUnitBurst: 26 + 2 * 60 };
    const singleHandler = startHandler({ tier });
    expect(singleHandler.ask(Buffer.from(balance(30_000)))[0]).toContain('"result"');
    expect(singleHandler.ask(Buffer.from(balance(34_000)))[0]).toMatch(
      /"id":1,.*"code":-32005,"message":"rate limit exceeded/,
    );
    expect(singleHandler.ask(Buffer.from(balance(10)))[0]).toContain('"result"');
    const long = startHandler({ tier: { ...tier, computeUnitBurst: 200 }, limits: {} });
    expect(long.ask(Buffer.concat([Buffer.from("no JSON"), Buffer.alloc(90_000)]))[0]).toContain("parse error");
    expect(long.ask(createBatch(2, 40_000))[0]).toMatch(/"id":null,.*"code":-32005,"message":"rate limit exceeded/);
  });

  it("rejects a queued call if responses received in the meantime used up its caller's units", async () => {
    const { begin, passedCallers, gate, limiter, policy } = startHandler({
      tier: { concurrency: 1, computeUnitBurst: 100 },
    });
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
    expect([passedCallers.length, gate.callsInFlight, gate.callsWaiting]).toEqual([1, 0, 0]);
  });

  it("rejects params longer than the method can need, and names the method", () => {
    const { ask } = startHandler({ limits: {} });
    const call = (method: string, size: number) =>
      ask(Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":["${"x".repeat(size - 4)}"]}`))[0];
    expect(call("eth_getBalance", 4_096)).toContain('"result"');
    expect(call("eth_getBalance", 4_097)).toBe(rejection(4_097, 4_096, "eth_getBalance"));
    expect(call("eth_getLogs", 131_073)).toBe(rejection(131_073, 131_072, "eth_getLogs"));
    expect(call("eth_sendRawTransaction", 500_000)).toContain('"result"');
  });
});
