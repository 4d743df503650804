import { describe, expect, it } from "vitest";
import { buildOpenRpcTexts } from "./openrpc-texts.ts";
import type { ResponseFailure } from "../errors.ts";
import { createHead } from "../chain/head.ts";
import { createLoadGate } from "../limits/load-gate.ts";
import { rememberChecks } from "../limits/checked-params.ts";
import { createPolicy } from "../policy.ts";
import { roomyMemory } from "../testing/roomy-memory.ts";
import { testSettings } from "../testing/test-gateway.ts";
import { finishedFlow } from "../responses/response-sink.ts";
import { createCallHandler } from "./call-handler.ts";
import { createTextSink, type TextResponse } from "../responses/text-sink.ts";

const now = () => 0;
const tier = {
  requestsPerSecond: 1,
  requestBurst: 1,
  computeUnitsPerSecond: 1,
  computeUnitBurst: 1,
  concurrency: 100,
  splitBlocks: 1_000,
};

describe("a range in pieces", () => {
  it("is refused by a limiter that answers later", async () => {
    const policy = createPolicy(testSettings({ tiers: { public: tier } }));
    const head = createHead({ staleAfterMs: 1_000 }, { now, wallClock: Date.now });
    head.advance({ number: 1_000n, hash: '"0x1"' });
    const charges: number[] = [];
    const asked: string[] = [];
    const handle = createCallHandler({
      policy: () => policy,
      limiter: {
        acquire: async (_key, costUnits) => (charges.push(costUnits) === 1 ? undefined : 3_000),
        waitFor: () => undefined,
        debtMs: () => undefined,
        owe: () => undefined,
      },
      gate: createLoadGate(testSettings().upstream, { loopDelayMs: () => 0 }),
      head,
      checks: rememberChecks(),
      reads: {
        cached: () => undefined,
        lasting: () => undefined,
        read: ({ params }) => {
          asked.push(params);
          return finishedFlow;
        },
      },
      meter: { call: () => undefined, node: () => undefined, limited: () => undefined },
      nodeFitness: () => "fit",
      openRpc: buildOpenRpcTexts(),
      now,
    });
    const answer = await new Promise<TextResponse | ResponseFailure>((resolve) => {
      handle(
        { id: "1", method: "eth_getLogs", params: '[{"fromBlock":"0x0","toBlock":"0xf9"}]' },
        {
          caller: { key: "a", listener: "public", tierName: "public" },
          memory: roomyMemory,
          startedAt: 0,
          traceContext: undefined,
        },
        createTextSink(10_000, roomyMemory, resolve),
      );
      setTimeout(() => resolve("unavailable"), 1_000);
    });
    expect(answer).toMatchObject({ retryAfterSeconds: 3 });
    expect(charges[1]).toBe(2 * (charges[0] ?? 0));
    expect(asked).toEqual([]);
  });
});
