import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openRpcTexts } from "../catalogue/openrpc-texts.ts";
import { makeHead } from "../cache/head.ts";
import { makeLoadGate } from "../limits/load-gate.ts";
import { rememberChecks } from "../limits/remembered-checks.ts";
import { processRateLimiter } from "../limits/rate-limiter.ts";
import { makePolicy } from "../policy/policy.ts";
import { messageBytes } from "../testing/generated-messages.ts";
import { testSettings } from "../testing/test-gateway.ts";
import { finishedFlow } from "./answer-sink.ts";
import { makeCallHandler } from "./call-handler.ts";
import { makeMessageHandler } from "./message-handler.ts";
import { textSink } from "./text-sink.ts";

const generous = {
  requestsPerSecond: 1e6,
  requestBurst: 1e6,
  computeUnitsPerSecond: 1e9,
  computeUnitBurst: 1e9,
  concurrency: 100,
};

const now = () => 0;

function startHandler() {
  const policy = makePolicy(testSettings({ tiers: { public: generous }, limits: { batchItems: 20, depth: 40 } }));
  const head = makeHead({ staleAfterMs: 1_000 }, { now, wallClock: Date.now });
  head.advance({ number: 1_000n, hash: '"0x1"' });
  const gate = makeLoadGate({ loopDelayMs: () => 0 });
  const passed: string[] = [];
  const handle = makeCallHandler({
    policy: () => policy,
    limiter: processRateLimiter({ clients: 10 }, { now }),
    gate,
    head,
    checks: rememberChecks(),
    reads: {
      cached: () => undefined,
      lasting: () => undefined,
      read: ({ key }, reader) => {
        passed.push(key);
        reader.done("answered");
        const { id, sink } = reader;
        sink.text(`{"jsonrpc":"2.0","id":${id},"result":"0x1"}`, "node");
        return finishedFlow;
      },
    },
    meter: { call: () => undefined, node: () => undefined, limited: () => undefined },
    nodeFitness: () => "fit",
    openRpc: openRpcTexts(),
    now,
  });
  const nodeBatches = { items: () => 1, open: () => ({ send: () => finishedFlow }) };
  const messages = { policy: () => policy, handle, gate, nodeBatches, tracing: undefined, now };
  const handleMessage = makeMessageHandler(messages);
  const caller = { key: "a", listener: "public" as const, tierName: "public" };
  const ask = (body: Buffer) => {
    const texts: string[] = [];
    const sink = textSink(10_000_000, (answer) => texts.push(typeof answer === "string" ? answer : answer.text));
    handleMessage(body, { caller, traceContext: undefined }, sink);
    return texts;
  };
  return { ask, passed, gate };
}

describe("the message handler", () => {
  it("answers whatever comes once, with JSON-RPC or with nothing, and lets no call stay under way", () => {
    const { ask, passed, gate } = startHandler();
    const seed = Number(process.env["GATEHOUSE_FUZZ_SEED"] ?? Date.now() % 2 ** 31);
    fc.assert(
      fc.property(messageBytes, (body) => {
        passed.length = 0;
        const texts = ask(body);
        expect(texts).toHaveLength(1);
        expect(gate.callsInFlight()).toBe(0);
        for (const call of passed) JSON.parse(call.slice(call.indexOf(" ")));
        if (texts[0] === "") return;
        const answer = JSON.parse(Buffer.from(texts[0]!, "latin1").toString("utf8")) as object | object[];
        for (const one of Array.isArray(answer) ? answer : [answer]) {
          expect(one).toMatchObject({ jsonrpc: "2.0" });
          expect("result" in one !== "error" in one && "id" in one).toBe(true);
        }
      }),
      { numRuns: Number(process.env["GATEHOUSE_FUZZ_RUNS"] ?? 5_000), seed },
    );
  }, 3_600_000);
});
