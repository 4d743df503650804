import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import type { RpcState } from "#health/rpc-state.ts";
import { skipWaits } from "../../testing/skipped-waits.ts";
import type { NodeStart } from "../drivers/driver.ts";
import type { PushCheck } from "../pushgateway/push-watch.ts";
import { restartAndVerify, waitForResponse } from "./restart-verification.ts";

skipWaits();

const refused = { reason: "ConnectionRefused", message: "refused" } as const;

/** A restart that has not been made before, with the same time limit for the response and for the height. */
const limits = (withinMs: number) => ({
  answersWithinMs: withinMs,
  healthyWithinMs: withinMs,
  metricsWithinMs: 50,
  isAlreadyCommanded: false,
});

/** Restarts a node that is back at once, with a Pushgateway that responds as given. */
async function verified(lastPush: () => PushCheck): Promise<boolean> {
  let height = 0;
  const options = { ...limits(5_000), signal: new AbortController().signal };
  const check = async () => ({ answers: 1, height: (height += 1) });
  const { ok } = await restartAndVerify(async () => ({}), options, {
    clock: systemClock,
    check,
    lastPush: async () => lastPush(),
  });
  return ok;
}

test.each<[boolean, PushCheck["state"]]>([
  [true, "notPushing"],
  [true, "unreachable"],
  [false, "missing"],
])("a restart is good (%s) when the push is %s", async (isGood, state) => {
  expect(await verified(() => (state === "pushed" ? { state, lastPushSeconds: 1 } : { state }))).toBe(isGood);
});

test("a push counts when it is another than the one before the restart, even if the clock was set back", async () => {
  let seconds = 10_000;
  expect(await verified(() => ({ state: "pushed", lastPushSeconds: 1 }))).toBe(false);
  expect(await verified(() => ({ state: "pushed", lastPushSeconds: (seconds += 1) }))).toBe(true);
  expect(await verified(() => ({ state: "pushed", lastPushSeconds: (seconds -= 3_600) }))).toBe(true);
});

test("a node that advances and has not pushed yet is not said to be silent", async () => {
  const stages: (string | undefined)[] = [];
  let height = 0;
  const options = { ...limits(5_000), signal: new AbortController().signal };
  await restartAndVerify(async () => ({}), options, {
    clock: systemClock,
    check: async () => ({ answers: 1, height: (height += 1) }),
    lastPush: async () => ({ state: "unreachable" }),
    waitsFor: (stage) => stages.push(stage),
  });
  expect(stages.at(-1)).toMatch(/^It responds and advances; waiting for its next metrics push until 20\d\d-\S+Z\.$/);
});

test("what an attempt before waited for is not said of the next one", async () => {
  const stages: (string | undefined)[] = [];
  const restart = async () => {
    expect(stages).toEqual([undefined]);
    return {};
  };
  const options = { ...limits(100), signal: new AbortController().signal };
  await restartAndVerify(restart, options, {
    clock: systemClock,
    check: async () => ({ answers: 1, failure: refused }),
    lastPush: undefined,
    waitsFor: (stage) => stages.push(stage),
  });
  expect(stages.length).toBeGreaterThan(1);
});

/**
 * Restarts a node without metrics, whose health before and after the test sets; returns the result of the verification.
 */
async function proof(before: Partial<RpcState>, after: (atMs: number) => Partial<RpcState>): Promise<boolean> {
  let isRestarted = false;
  const restart = async () => {
    isRestarted = true;
    return {};
  };
  const options = { ...limits(2_500), signal: new AbortController().signal };
  const check = async () => ({ answers: 1, ...(isRestarted ? after(systemClock.monotonicMs()) : before) });
  return (await restartAndVerify(restart, options, { clock: systemClock, check, lastPush: undefined })).ok;
}

const never = Number.NEGATIVE_INFINITY;

test.each<[string, Partial<RpcState>, (atMs: number) => Partial<RpcState>, boolean]>([
  [
    "answers with the same head, of a chain that made no steady blocks before",
    { height: 7, cadence: "irregular" },
    () => ({ height: 7 }),
    true,
  ],
  [
    "answers with the same head, of a chain that made steady blocks",
    { height: 7, cadence: "steady" },
    () => ({ height: 7 }),
    false,
  ],
  [
    "answers with the same head, of a chain that is not known yet",
    { height: 7, cadence: "unknown" },
    () => ({ height: 7 }),
    false,
  ],
  [
    "answers with the same head, of a chain that was at rest before it was watched",
    { height: 7, cadence: "unknown", idleAt: 7 },
    () => ({ height: 7 }),
    true,
  ],
  [
    "answers with the same head, of a chain that was at rest and then made a block",
    { height: 7, cadence: "unknown", idleAt: 6 },
    () => ({ height: 7 }),
    false,
  ],
  [
    "lost blocks of a chain that was at rest",
    { height: 7, cadence: "unknown", idleAt: 7 },
    () => ({ height: 6 }),
    false,
  ],
  ["lost blocks of a chain that makes none", { height: 7, cadence: "irregular" }, () => ({ height: 6 }), false],
  [
    "answers now and then",
    { height: 7, cadence: "irregular" },
    (atMs) => (atMs % 500 < 250 ? { height: 7 } : { height: 7, failure: refused }),
    false,
  ],
  [
    "has the head of the references, however steady blocks were",
    { height: 7, cadence: "steady" },
    (requestedAtMs) => ({ height: 7, reference: { height: 7, requestedAtMs } }),
    true,
  ],
  [
    "is behind the references on a chain that made no steady blocks",
    { height: 7, cadence: "irregular" },
    (requestedAtMs) => ({ height: 7, reference: { height: 8, requestedAtMs } }),
    false,
  ],
  [
    "has the head that the references had before the restart",
    { height: 7, cadence: "steady" },
    () => ({ height: 7, reference: { height: 7, requestedAtMs: never } }),
    false,
  ],
  [
    "can't be compared, because no reference answers",
    { height: 7, cadence: "irregular" },
    (requestedAtMs) => ({ height: 7, reference: { height: undefined, requestedAtMs } }),
    false,
  ],
])("a node that %s", async (_, before, after, isGood) => {
  expect(await proof(before, after)).toBe(isGood);
});

/**
 * Restarts with a command that exits with status 0 but prints an error, and a node that is down for some of the checks.
 */
async function afterComplaint(isDownAtCheck: (checks: number) => boolean) {
  let height = 0;
  const check = async () => {
    height += 1;
    const failure = { reason: "ConnectionRefused", message: "no connection" } as const;
    return isDownAtCheck(height) ? { answers: 1, failure } : { answers: 1, height };
  };
  const options = { ...limits(200), signal: new AbortController().signal };
  const dependencies = { clock: systemClock, check, lastPush: undefined };
  return restartAndVerify(async () => ({ failureOutput: "error: still running" }), options, dependencies);
}

test("a command that complains and ends with status 0 is no proof: the node has to be seen down", async () => {
  expect(await afterComplaint((checks) => checks === 2)).toMatchObject({ ok: true });
  expect(await afterComplaint(() => false)).toEqual({
    ok: false,
    message: "it was not restarted: it never stopped responding (the restart command printed: error: still running)",
  });
  expect(await afterComplaint((look) => look > 1)).toEqual({
    ok: false,
    message: "its RPC did not respond within 200 ms of the restart (the restart command printed: error: still running)",
  });
});

test("time in which the sidecar itself stood still is not the node's", async () => {
  let height = 0;
  let isOver = false;
  const check = async () => {
    height += 1;
    const failure = { reason: "ConnectionRefused", message: "no connection" } as const;
    return isOver ? { answers: 1, height } : { answers: 1, failure };
  };
  const options = { ...limits(1_000), signal: new AbortController().signal };
  let stoodMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + stoodMs };
  setTimeout(() => {
    stoodMs = 1_500;
    setTimeout(() => (isOver = true), 200);
  }, 100);
  expect(await restartAndVerify(async () => ({}), options, { clock, check, lastPush: undefined })).toMatchObject({
    ok: true,
  });
});

/**
 * Restarts a node that starts to respond after a time and then produces blocks, or not; its driver reports its
 * process's start time.
 */
async function slowStart(
  node: Readonly<{ answersAfterMs: number; advances: boolean; startedAt?: () => NodeStart }>,
  withinMs: Readonly<{ answers: number; healthy: number }>,
) {
  const beganMs = systemClock.monotonicMs();
  const stages: string[] = [];
  let height = 7;
  const check = async () => {
    const isSilent = systemClock.monotonicMs() - beganMs < node.answersAfterMs;
    if (node.advances && !isSilent) height += 1;
    return isSilent ? { answers: 1, failure: refused } : { answers: 1, height };
  };
  const signal = new AbortController().signal;
  const options = { ...limits(withinMs.healthy), answersWithinMs: withinMs.answers, signal };
  const { startedAt } = node;
  const verification = await restartAndVerify(async () => ({}), options, {
    clock: systemClock,
    check,
    lastPush: undefined,
    beforeRestart: startedAt && (async () => async () => startedAt()),
    waitsFor: (stage) => void (stage !== undefined && stages.push(stage)),
  });
  return { verification, stages, tookMs: systemClock.monotonicMs() - beganMs };
}

test("a node that replays its log for longer than its height may take to advance is waited for, and it is said until when", async () => {
  const { verification, stages } = await slowStart(
    { answersAfterMs: 600, advances: true },
    { answers: 20_000, healthy: 300 },
  );
  expect(verification).toMatchObject({ ok: true });
  expect(stages[0]).toMatch(
    /^It was started and does not respond yet; it has until 20\d\d-\S+Z \(restart\.answersWithinMs\)\.$/,
  );
});

test("the time for the height to advance counts from the first answer", async () => {
  const { verification, stages } = await slowStart(
    { answersAfterMs: 600, advances: false },
    { answers: 20_000, healthy: 300 },
  );
  expect(verification).toEqual({
    ok: false,
    message: "its height stayed at 7 within 300 ms of its first response",
    end: { kind: "stood" },
  });
  expect(stages.at(-1)).toMatch(/^It responds; its height must advance by 20\d\d-\S+Z \(restart\.healthyWithinMs\)\.$/);
});

test.each<[string, () => () => NodeStart]>([
  ["does not run any more", () => () => "not-running"],
  ["is another one by now, because what keeps it running started it again", () => () => systemClock.wallMs()],
])("a node whose process %s is not waited for as one that replays its log", async (_, startedAt) => {
  const node = { answersAfterMs: 60_000, advances: false, startedAt: startedAt() };
  const { verification } = await slowStart(node, { answers: 60_000, healthy: 2_500 });
  expect(verification).toEqual({
    ok: false,
    message: "its RPC did not respond within 2500 ms of the restart: its process exited",
    end: { kind: "ended", afterMs: expect.any(Number) },
  });
});

test("a node whose process runs on is waited for until it answers", async () => {
  const startedAtMs = systemClock.wallMs();
  const node = { answersAfterMs: 1_500, advances: true, startedAt: () => startedAtMs };
  const { verification } = await slowStart(node, { answers: 20_000, healthy: 1_000 });
  expect(verification).toMatchObject({ ok: true });
});

const lookAtNobody = async () => ({ answers: 0, failure: refused });

test.each([
  [1_000, 1_000],
  [120_000, 5_000],
])(
  "a node that the start command could not start has as long as one whose process has ended (%i ms), and five seconds at most",
  async (healthyWithinMs, atMostMs) => {
    const beganMs = systemClock.monotonicMs();
    const options = { healthyWithinMs, signal: new AbortController().signal };
    expect(await waitForResponse(options, { clock: systemClock, check: lookAtNobody })).toBe(false);
    const tookMs = systemClock.monotonicMs() - beganMs;
    expect(tookMs).toBeGreaterThanOrEqual(atMostMs);
    expect(tookMs).toBeLessThan(atMostMs + 500);
  },
);
