import { Registry } from "prom-client";
import { Head } from "#gateway/chain/head.ts";
import { discardedResponse, finishedFlow } from "#gateway/responses/response-sink.ts";
import { CallAccount } from "#gateway/calls/call-account.ts";
import type { CallDependencies } from "#gateway/calls/call-context.ts";
import { handleCall } from "#gateway/calls/call-handler.ts";
import { LoadGate } from "#gateway/limits/load-gate.ts";
import { rememberChecks } from "#gateway/limits/checked-params.ts";
import { createProcessRateLimiter } from "#gateway/limits/rate-limiter.ts";
import { createPrometheusMeter } from "#gateway/observe/call-metrics.ts";
import { createPolicy } from "#gateway/policy.ts";
import { roomyMemory } from "#gateway/testing/unlimited-memory.ts";
import { gatewaySection } from "#gateway/settings/sections.ts";
import { roomyTier } from "./unlimited-tier.ts";
import type { Figure } from "./table.ts";

const calls = 1_000_000;
const now = () => performance.now();

/**
 * Measures the cost of catalogue, limits and metrics for one call, with a node that responds at once in the same
 * process.
 */
export function measureChecks(): readonly Figure[] {
  const policy = createPolicy(gatewaySection.parse({ tiers: { public: roomyTier } }));
  const dependencies: CallDependencies = {
    policy: () => policy,
    limiter: createProcessRateLimiter({ clients: 100_000 }, { now }),
    gate: new LoadGate(gatewaySection.parse({}).upstream, { loopDelayMs: () => 0 }),
    nodeFitness: () => "fit",
    head: new Head({ staleAfterMs: 30_000 }, { now, wallClock: Date.now }),
    checks: rememberChecks(),
    reads: {
      cached: () => undefined,
      lasting: () => undefined,
      read: (read) => {
        read.text('{"jsonrpc":"2.0","id":1,"result":"0x0"}', "node");
        return finishedFlow;
      },
    },
    meter: createPrometheusMeter(new Registry()),
    now,
  };
  const caller = { key: "public 127.0.0.1", listener: "public", tierName: "public" } as const;
  const call = { id: "1", method: "eth_getBalance", params: '["0x0000000000000000000000000000000000000000","latest"]' };
  const run = () => {
    const before = process.cpuUsage();
    for (let index = 0; index < calls; index += 1) {
      const account = new CallAccount(dependencies, { caller, memory: roomyMemory, traceContext: undefined }, false);
      handleCall(account, call, discardedResponse);
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / calls;
  };
  run();
  return [{ what: `catalogue, limits and metrics, ${calls} calls: CPU µs a call`, figure: run(), target: { most: 5 } }];
}
