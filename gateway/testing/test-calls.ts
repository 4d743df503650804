import type { CallDependencies } from "../calls/call-context.ts";
import { Head } from "../chain/head.ts";
import { rememberChecks } from "../limits/checked-params.ts";
import { LoadGate } from "../limits/load-gate.ts";
import { createPolicy } from "../policy.ts";
import { finishedFlow } from "../responses/response-sink.ts";
import { limitlessTier } from "./limitless-tier.ts";
import { testSettings } from "./test-gateway.ts";

/** Creates what calls need, with a limiter that admits all, a node that answers nothing, and a clock that a test sets. */
export function createTestCalls({ rateLimit = {} }: Readonly<{ rateLimit?: object }> = {}) {
  const clock = { ms: 0 };
  const now = () => clock.ms;
  const owed: number[] = [];
  const outcomes: string[] = [];
  const tiers = { public: { ...limitlessTier, webSockets: 1, subscriptions: 1 } };
  const policy = createPolicy(testSettings({ rateLimit, tiers }));
  const dependencies: CallDependencies = {
    policy: () => policy,
    limiter: {
      acquire: () => undefined,
      waitFor: () => undefined,
      debtMs: () => undefined,
      owe: (_key, costUnits) => void owed.push(costUnits),
    },
    gate: new LoadGate(testSettings().upstream, { loopDelayMs: () => 0 }),
    head: new Head({ staleAfterMs: 1_000 }, { now, wallClock: now }),
    checks: rememberChecks(),
    reads: { cached: () => undefined, lasting: () => undefined, read: () => finishedFlow },
    meter: {
      call: ({ outcome }) => void outcomes.push(outcome),
      node: () => undefined,
      limited: () => undefined,
    },
    nodeFitness: () => "fit",
    now,
  };
  return { dependencies, owed, outcomes, clock };
}
