import { describe, expect, test } from "vitest";
import { unknownHealth, type NodeInfo, type NodeFault, type RpcState } from "#health/rpc-state.ts";
import { makeContext } from "../../testing/upkeep-context.ts";
import type { NodeDriver } from "../drivers/driver.ts";
import { explainHungNode, explainUnhealthyNode } from "./unhealthy-restart.ts";

const aDayMs = 86_400_000;
const answeredAtMs = Date.parse("2026-05-01T12:00:00Z");
const restartNode = () => Promise.resolve({});

type Options = Readonly<{
  isRestarted?: boolean;
  restartAfterMs?: number;
  answersWithinMs?: number;
  hungAfterMs?: number;
  wasSeen?: boolean;
  driver?: NodeDriver;
  current?: RpcState;
}>;

/**
 * Checks a node at these times; returns whether it is unhealthy, whether it hangs, each with the reason, and since when it is unresponsive.
 */
async function explain(checks: readonly (readonly [ranMs: number, facts: NodeInfo])[], options: Options = {}) {
  const { isRestarted = true, restartAfterMs = 1_000, answersWithinMs = 0, hungAfterMs = 60_000 } = options;
  const settings = {
    lag: { restart: isRestarted, restartAfterMs },
    restart: { answersWithinMs, hungAfterMs },
    node: {},
  };
  const { process } = makeContext();
  process.note({ wasSeen: options.wasSeen ?? false });
  const results: (readonly [unhealthy: string | undefined, hung: string | undefined])[] = [];
  for (const [ranMs, facts] of checks) {
    const health = { current: () => options.current ?? unknownHealth, facts: () => facts, ranMs: () => ranMs };
    const context = makeContext({ settings, process, health, driver: options.driver });
    results.push([await explainUnhealthyNode(context), await explainHungNode(context)]);
  }
  return { results, unresponsive: process.now().unresponsive };
}

/** Returns the explanation for a node that fails for this reason, at first and after some time. */
function explainFailing(reason: NodeFault["reason"], laterMs: number, options?: Options) {
  const facts = { rpc: { sinceMs: 0, fault: { reason, message: "No response." } } };
  return explain([[0, facts] as const, [laterMs, facts] as const], options);
}

test("reports a node that is unresponsive for a day as unhealthy", async () => {
  const { results, unresponsive } = await explainFailing("TimedOut", aDayMs);
  expect(results[1]?.[0]).toContain("the node has been unhealthy for 86400 s: TimedOut");
  expect(unresponsive).toMatchObject({ sinceMs: 0 });
});

test("reports a node with an unresolvable name as neither unhealthy nor unresponsive, since it was never queried", async () => {
  const { results, unresponsive } = await explainFailing("NameNotResolved", aDayMs);
  expect([results[1], unresponsive]).toEqual([[undefined, undefined], undefined]);
});

test.each([
  ["that responded since its start hangs", -1_000, 60_000, "has not responded for 86400 s"],
  ["that has not responded since its start is replaying its log", 1_000, 60_000, undefined],
  ["that hangs is left alone if no time limit is set", -1_000, 0, undefined],
])("an unresponsive node %s", async (_, startedMs, hungAfterMs, words) => {
  const startedAt = () => Promise.resolve(answeredAtMs + startedMs);
  const driver = { name: "kubernetes", restart: restartNode, startedAt };
  const currentState = { ...unknownHealth, answeredAtMs };
  const { results } = await explainFailing("TimedOut", aDayMs, { hungAfterMs, driver, current: currentState });
  expect(results[0]?.[1]).toBeUndefined();
  expect(results[1]?.[1]).toEqual(words && expect.stringContaining(words));
});

test.each([
  [
    "has exited is restarted without lag.restart, even by a later sidecar",
    true,
    [],
    "unhealthy for 2 s: ConnectionRefused",
  ],
  ["still runs is left alone", true, [7], undefined],
  ["was never seen is left alone", false, [], undefined],
])("a node whose process %s", async (_, wasSeen, pids, words) => {
  const driver = { name: "ops", restart: restartNode, processes: () => Promise.resolve(pids) };
  const options = { wasSeen, driver, isRestarted: false, answersWithinMs: aDayMs };
  const { results } = await explainFailing("ConnectionRefused", 2_000, options);
  expect(results[0]?.[0]).toBeUndefined();
  expect(results[1]?.[0]).toEqual(words && expect.stringContaining(words));
});

const responds = { rpc: { sinceMs: 0, fault: undefined } };

/** A node that responds and is this many blocks behind its references. */
const createLag = (blocks: number): NodeInfo => ({
  ...responds,
  height: "advancing",
  lag: { reason: "Behind", message: `It is ${blocks} blocks behind.`, blocks },
});

/** For a node checked every minute and restarted after five: the first minute at which a restart is due, and why. */
async function findFirstMinute(count: number, facts: (minute: number) => NodeInfo, isRestarted = true) {
  const checks = Array.from({ length: count }, (_, minute) => [minute * 60_000, facts(minute)] as const);
  const { results } = await explain(checks, { isRestarted, restartAfterMs: 300_000 });
  const minute = results.findIndex(([unhealthy]) => unhealthy !== undefined);
  return minute < 0 ? undefined : ([minute, results[minute]?.[0]] as const);
}

const webSocket = { reason: "ConnectionClosed", message: "It is closed." } as const;

describe("a node that is behind", () => {
  test.each<[string, number, (minute: number) => NodeInfo, boolean?]>([
    ["gets closer to its references", 600, (minute) => createLag(100_000 - 60 * minute)],
    ["catches up in bursts", 600, (minute) => createLag(100_000 - 900 * Math.floor(minute / 4))],
    ["doesn't get closer, but lag.restart is off", 60, () => createLag(1_000), false],
  ])("is left alone if it %s", async (_, count, facts, isRestarted) => {
    expect(await findFirstMinute(count, facts, isRestarted)).toBeUndefined();
  });

  test.each<[string, number, number, string, (minute: number) => NodeInfo]>([
    ["is stuck", 10, 5, "unhealthy for 300 s: Behind (It is 1", (minute) => createLag(1_000 + 60 * minute)],
    [
      "only keeps pace with the chain",
      10,
      5,
      "unhealthy for 300 s: Behind (It is 1",
      (minute) => createLag(1_000 + (minute % 2)),
    ],
    ["stops catching up", 60, 34, "Behind", (minute) => createLag(minute < 30 ? 5_000 - minute : 5_000)],
    [
      "catches up, but has a different fault",
      60,
      34,
      "ConnectionClosed (It is closed.)",
      (minute) => ({ ...createLag(5_000 - minute), ...(minute < 30 ? {} : { webSocket }) }),
    ],
  ])("is restarted if it %s", async (_, count, minute, words, facts) => {
    expect(await findFirstMinute(count, facts)).toEqual([minute, expect.stringContaining(words)]);
  });
});

test("does not restart a node that lost blocks, since a restart can't restore them", async () => {
  const height = { reason: "WentBackwards", message: "Height went back." } as const;
  expect(await findFirstMinute(60, () => ({ ...responds, height }))).toBeUndefined();
});
