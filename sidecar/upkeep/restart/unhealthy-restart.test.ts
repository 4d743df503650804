import { describe, expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { unknownHealth, type NodeInfo, type NodeFault } from "#health/rpc-state.ts";
import { observeProcess } from "./restart-observation.ts";
import { explainHung, explainUnhealthy } from "./unhealthy-restart.ts";

const aDayMs = 86_400_000;

/** Explains a node that has responded before and then gave no response for a day, for this reason. */
async function explainSilence(reason: NodeFault["reason"]) {
  const process = observeProcess();
  let ranMs = 0;
  const dependencies = {
    health: {
      current: () => ({ ...unknownHealth, answeredAtMs: systemClock.wallMs() }),
      facts: () => ({ rpc: { sinceMs: 0, fault: { reason, message: "No answer." } } }),
      ranMs: () => ranMs,
    },
    driver: undefined,
    clock: systemClock,
    signal: new AbortController().signal,
  };
  const explain = async () => [
    await explainUnhealthy(process, { isRestarted: true, restartAfterMs: 1_000, answersWithinMs: 0 }, dependencies),
    await explainHung(process, { hungAfterMs: 1_000 }, dependencies),
  ];
  await explain();
  ranMs = aDayMs;
  return { explained: await explain(), silence: process.now().unresponsive };
}

test("a node that is silent for a day is unwell", async () => {
  const { explained, silence } = await explainSilence("TimedOut");
  expect(explained[0]).toContain("the node has been unhealthy for 86400 s: TimedOut");
  expect(silence).toMatchObject({ sinceMs: 0 });
});

test("a node whose name nobody resolves was not asked, so that it is neither unwell nor silent, and is not restarted", async () => {
  expect(await explainSilence("NameNotResolved")).toEqual({ explained: [undefined, undefined], silence: undefined });
});

test.each([
  ["that answered since its start hangs", { startedAt: -1_000, hungAfterMs: 60_000 }, "has not responded for 86400 s"],
  ["that has not answered since its start replays its log", { startedAt: 1_000, hungAfterMs: 60_000 }, undefined],
  ["that hangs is left to it where no setting says after how long", { startedAt: -1_000, hungAfterMs: 0 }, undefined],
])("a silent node %s", async (_, { startedAt, hungAfterMs }, words) => {
  const process = observeProcess();
  const answeredAtMs = Date.parse("2026-05-01T12:00:00Z");
  let ranMs = 0;
  const fault = { reason: "TimedOut", message: "No answer." } as const;
  const dependencies = {
    health: {
      current: () => ({ ...unknownHealth, answeredAtMs }),
      facts: () => ({ rpc: { sinceMs: 0, fault } }),
      ranMs: () => ranMs,
    },
    driver: {
      name: "kubernetes",
      restart: () => Promise.resolve({}),
      startedAt: () => Promise.resolve(answeredAtMs + startedAt),
    },
    clock: systemClock,
    signal: new AbortController().signal,
  };
  expect(await explainHung(process, { hungAfterMs }, dependencies)).toBeUndefined();
  ranMs = aDayMs;
  const explained = await explainHung(process, { hungAfterMs }, dependencies);
  expect(explained).toEqual(words && expect.stringContaining(words));
});

/** A node that responds and is this many blocks behind its references. */
const behind = (blocks: number): NodeInfo => ({
  rpc: { sinceMs: 0, fault: undefined },
  height: "advancing",
  lag: { reason: "Behind", message: `It is ${blocks} blocks behind.`, blocks },
});

/**
 * For a node that is checked every minute and restarted after five minutes: the minutes at which a restart is due, and
 * why.
 */
async function explainEachMinute(looks: readonly NodeInfo[], isRestarted = true) {
  const process = observeProcess();
  const due: (readonly [number, string])[] = [];
  for (const [minute, facts] of looks.entries()) {
    const health = { current: () => unknownHealth, facts: () => facts, ranMs: () => minute * 60_000 };
    const dependencies = { health, driver: undefined, clock: systemClock, signal: new AbortController().signal };
    const options = { isRestarted, restartAfterMs: 300_000, answersWithinMs: 0 };
    const reason = await explainUnhealthy(process, options, dependencies);
    if (reason !== undefined) due.push([minute, reason]);
  }
  return due;
}

const minutes = (count: number, facts: (minute: number) => NodeInfo) =>
  Array.from({ length: count }, (_, at) => facts(at));

describe("a node that is behind", () => {
  test("and comes nearer to its references is left to it, for however long, also where it comes on by leaps", async () => {
    expect(await explainEachMinute(minutes(600, (minute) => behind(100_000 - 60 * minute)))).toEqual([]);
    expect(await explainEachMinute(minutes(600, (minute) => behind(100_000 - 900 * Math.floor(minute / 4))))).toEqual(
      [],
    );
  });

  test.each([
    ["stands still", (minute: number) => behind(1_000 + 60 * minute)],
    ["advances no faster than the chain", (minute: number) => behind(1_000 + (minute % 2))],
  ])("and %s is restarted", async (_, facts) => {
    const [first] = await explainEachMinute(minutes(10, facts));
    expect(first).toEqual([5, expect.stringContaining("the node has been unhealthy for 300 s: Behind (It is 1")]);
  });

  test("is only reported without lag.restart", async () => {
    expect(
      await explainEachMinute(
        minutes(60, () => behind(1_000)),
        false,
      ),
    ).toEqual([]);
  });

  test("and came nearer is restarted so long after it stopped doing so", async () => {
    const due = await explainEachMinute(minutes(60, (minute) => behind(minute < 30 ? 5_000 - minute : 5_000)));
    expect(due[0]?.[0]).toBe(34);
  });

  test("and comes nearer, but has another fault, is restarted for that one", async () => {
    const webSocket = { reason: "ConnectionClosed", message: "It is closed." } as const;
    const due = await explainEachMinute(
      minutes(60, (minute) => ({ ...behind(5_000 - minute), ...(minute < 30 ? {} : { webSocket }) })),
    );
    expect(due[0]).toEqual([34, expect.stringContaining("ConnectionClosed (It is closed.)")]);
  });
});

test("a node that lost blocks is not restarted for that: no restart brings them back", async () => {
  const height = { reason: "WentBackwards", message: "Height went back." } as const;
  expect(await explainEachMinute(minutes(60, () => ({ rpc: { sinceMs: 0, fault: undefined }, height })))).toEqual([]);
});

/**
 * Explains why an unresponsive node is to be started without `lag.restart`, by whether its process was seen before and
 * what runs now.
 */
const explainGone = async (wasSeen: boolean, pids: readonly number[]) => {
  const process = observeProcess({ wasSeen });
  let ranMs = 0;
  const fault = { reason: "ConnectionRefused", message: "No answer." } as const;
  const dependencies = {
    health: {
      current: () => unknownHealth,
      facts: () => ({ rpc: { sinceMs: 0, fault } }),
      ranMs: () => ranMs,
    },
    driver: { name: "ops", restart: () => Promise.resolve({}), processes: () => Promise.resolve(pids) },
    clock: systemClock,
    signal: new AbortController().signal,
  };
  const options = { isRestarted: false, restartAfterMs: 1_000, answersWithinMs: aDayMs };
  const first = await explainUnhealthy(process, options, dependencies);
  ranMs = 2_000;
  return [first, await explainUnhealthy(process, options, dependencies)];
};

test("a node whose process was seen and has ended is started again without lag.restart, also by a sidecar that was started since", async () => {
  expect(await explainGone(true, [])).toEqual([
    undefined,
    expect.stringContaining("unhealthy for 2 s: ConnectionRefused"),
  ]);
  expect(await explainGone(true, [7])).toEqual([undefined, undefined]);
  expect(await explainGone(false, [])).toEqual([undefined, undefined]);
});
