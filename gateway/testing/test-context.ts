import { createLog } from "#daemon/log/log.ts";
import { CallAccounting } from "../calls/call-accounting.ts";
import type { GatewayContext } from "../calls/call-context.ts";
import { HeadTracker } from "../chain/chain-head.ts";
import { rememberChecks } from "../limits/check-params.ts";
import { LoadGate } from "../limits/load-gate.ts";
import { createProcessRateLimiter } from "../limits/rate-limiter.ts";
import { createPolicy } from "../policy.ts";
import { ResponseCache } from "../reads/response-cache.ts";
import { NodeReads } from "../reads/node-reads.ts";
import { finishedFlow } from "../responses/response-sink.ts";
import { createNodeBatches } from "../upstream/node-batches.ts";
import type { NodeCall, NodeFlow } from "../upstream/node-call.ts";
import { SharedTurns } from "../wire/shared-turns.ts";
import { limitlessTier } from "./limitless-tier.ts";
import { testSettings } from "./test-gateway.ts";
import { roomyMemory } from "./unlimited-memory.ts";

const log = createLog({ service: "test", level: "silent" });

export const noFlow: NodeFlow = { ...finishedFlow, join: () => undefined };

export const testCaller = { key: "a", listener: "public", tierName: "public" } as const;

type ContextOptions = Readonly<{
  /** Gateway settings; without tiers, callers have no limit. */
  settings?: Readonly<Record<string, object | string>>;
  now?: () => number;
  later?: (run: () => void) => void;
  send?: (call: NodeCall) => NodeFlow;
  /** Max calls and bytes of a batch to the node. */
  batches?: Readonly<{ items: number; responseBytes: number }>;
  cacheBytes?: number;
}>;

/** Creates the shared state of a gateway's calls, without sockets, for a node at block 1,000 to whose calls the test responds. */
export function createTestContext({
  settings,
  now = () => 0,
  later = setImmediate,
  send = () => noFlow,
  batches = { items: 1, responseBytes: 8_388_608 },
  cacheBytes = 0,
}: ContextOptions = {}) {
  const policy = createPolicy(testSettings({ tiers: { public: limitlessTier }, ...settings }));
  const pool = { send };
  const head = new HeadTracker({ staleAfterMs: 1e9 }, { now, wallClock: Date.now });
  head.advance({ number: 1_000n, hash: '"0x1"' });
  const options = { totalBytes: cacheBytes, entryBytes: 262_144 };
  const cache = new ResponseCache(options);
  const turns = new SharedTurns({ now, later });
  const context: GatewayContext = {
    policy: () => policy,
    limiter: createProcessRateLimiter({ clients: 10 }, { now }),
    gate: new LoadGate(testSettings().upstream, { loopDelayMs: () => 0 }),
    head,
    fitness: { current: "fit" },
    checks: rememberChecks(),
    reads: new NodeReads(options, { pool, cache, head }),
    nodeBatches: createNodeBatches(batches, { pool, log, now, turns }),
    meter: { call: () => undefined, node: () => undefined, limited: () => undefined },
    tracing: undefined,
    turns,
    now,
  };
  return { context, policy, cache };
}

/** Creates the accounting of a message that the test's caller sends. */
export function createTestAccount(context: GatewayContext, memory = roomyMemory): CallAccounting {
  return new CallAccounting(context, { caller: testCaller, memory, traceContext: undefined }, false);
}

/** Creates a context with a clock that the test sets; it records its calls' debts and outcomes. */
export function createCountingContext(rateLimit: object = {}) {
  const clock = { ms: 0 };
  const owed: number[] = [];
  const outcomes: string[] = [];
  const { context } = createTestContext({ settings: { rateLimit }, now: () => clock.ms });
  const limiter = { ...context.limiter, owe: (_key: string, costUnits: number) => void owed.push(costUnits) };
  const meter = { ...context.meter, call: ({ outcome }: { outcome: string }) => void outcomes.push(outcome) };
  return { context: { ...context, limiter, meter }, clock, owed, outcomes };
}
