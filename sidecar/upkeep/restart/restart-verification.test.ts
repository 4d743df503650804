import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import type { RpcState } from "#health/rpc-state.ts";
import { skipWaits } from "../../testing/skipped-waits.ts";
import { makeContext } from "../../testing/upkeep-context.ts";
import type { NodeStart, RestartReport } from "../drivers/driver.ts";
import type { PushCheck } from "../pushgateway/push-watch.ts";
import { restartAndVerify, waitForResponse } from "./restart-verification.ts";

skipWaits();

const rejectedFailure = { reason: "ConnectionRefused", message: "rejected" } as const;
const down = { answers: 1, failure: rejectedFailure };

type Restarted = Readonly<{
  check: () => Promise<RpcState>;
  lastPush?: () => PushCheck;
  restart?: () => Promise<RestartReport>;
  startedAt?: () => NodeStart;
  clock?: typeof systemClock;
  answersWithinMs?: number;
  healthyWithinMs?: number;
}>;

/** Restarts a node that responds as given; returns the outcome, and what was waited for. */
async function verify({ check, lastPush, restart, startedAt, clock = systemClock, ...limits }: Restarted) {
  const stages: (string | undefined)[] = [];
  const context = makeContext({
    settings: { restart: { answersWithinMs: 2_500, healthyWithinMs: 2_500, metricsWithinMs: 50, ...limits } },
    clock,
    health: { check },
    lastPush: lastPush && (async () => lastPush()),
    restarts: { note: ({ stage }: Readonly<{ stage: string | undefined }>) => stages.push(stage) },
  });
  const lookAt = startedAt && (async () => startedAt());
  const result = await restartAndVerify({ command: restart ?? (async () => ({})), checkProcess: lookAt }, context);
  return { result, stages };
}

/** A node that is back immediately and produces blocks. */
function advancing() {
  let height = 0;
  return async () => ({ answers: 1, height: (height += 1) });
}

let seconds = 10_000;

test.each<[boolean, string, () => PushCheck]>([
  [true, "the node doesn't push", () => ({ state: "notPushing" })],
  [true, "the Pushgateway is unreachable", () => ({ state: "unreachable" })],
  [false, "the Pushgateway has no group for the node", () => ({ state: "missing" })],
  [false, "the last push predates the restart", () => ({ state: "pushed", lastPushSeconds: 1 })],
  [true, "there is a later push", () => ({ state: "pushed", lastPushSeconds: (seconds += 1) })],
  [
    true,
    "there is a different push, by a clock that was set back",
    () => ({ state: "pushed", lastPushSeconds: (seconds -= 3_600) }),
  ],
])("a restart is verified (%s) if %s", async (isVerified, _, lastPush) => {
  expect((await verify({ check: advancing(), lastPush })).result.ok).toBe(isVerified);
});

test("reports that it is waiting for the next push", async () => {
  const { stages } = await verify({ check: advancing(), lastPush: () => ({ state: "unreachable" }) });
  expect(stages.at(-1)).toMatch(/^It responds and advances; waiting for its next metrics push until 20\d\d-\S+Z\.$/);
});

test("does not report what an earlier attempt waited for", async () => {
  const { stages } = await verify({ check: async () => down, answersWithinMs: 100, healthyWithinMs: 100 });
  expect(stages[0]).toBeUndefined();
  expect(stages.length).toBeGreaterThan(1);
});

const head = (height: number) => () => ({ height });
const same = head(7);
const reference = (height: number | undefined) => (requestedAtMs: number) => ({
  height: 7,
  reference: { height, requestedAtMs },
});
const irregular = { height: 7, cadence: "irregular" } as const;
const steadyBlocks = { height: 7, cadence: "steady" } as const;
const idleAt = (block: number) => ({ height: 7, cadence: "unknown", idleAt: block }) as const;

test.each<[string, Partial<RpcState>, (atMs: number) => Partial<RpcState>, boolean]>([
  ["has the same head, on a chain whose blocks are irregular", irregular, same, true],
  ["has the same head, on a chain with steady blocks", steadyBlocks, same, false],
  ["has the same head, on an unknown chain", { height: 7, cadence: "unknown" }, same, false],
  ["has the same head, on a chain that was idle when first watched", idleAt(7), same, true],
  ["has the same head, on a chain that was idle and then had a block", idleAt(6), same, false],
  ["lost blocks of a chain that was idle", idleAt(7), head(6), false],
  ["lost blocks of a chain with irregular blocks", irregular, head(6), false],
  [
    "responds intermittently",
    irregular,
    (atMs) => (atMs % 500 < 250 ? { height: 7 } : { height: 7, failure: rejectedFailure }),
    false,
  ],
  ["has the same head as its references, despite steady blocks", steadyBlocks, reference(7), true],
  ["is behind the references, despite irregular blocks", irregular, reference(8), false],
  [
    "has the same head as references queried before the restart",
    steadyBlocks,
    () => reference(7)(Number.NEGATIVE_INFINITY),
    false,
  ],
  ["can't be compared, because no reference responds", irregular, reference(undefined), false],
])("a node that %s", async (_, before, after, isVerified) => {
  let isRestarted = false;
  const restart = async () => {
    isRestarted = true;
    return {};
  };
  const check = async () => ({ answers: 1, ...(isRestarted ? after(systemClock.monotonicMs()) : before) });
  expect((await verify({ check, restart })).result.ok).toBe(isVerified);
});

const complain = async () => ({ failureOutput: "error: still running" });

test.each<[string, (checks: number) => boolean, object]>([
  ["and the node was briefly down", (checks) => checks === 2, { ok: true }],
  [
    "and the node never stopped responding",
    () => false,
    {
      ok: false,
      message: "it was not restarted: it never stopped responding (the restart command printed: error: still running)",
    },
  ],
  [
    "and the node stays down",
    (checks) => checks > 1,
    {
      ok: false,
      message:
        "its RPC did not respond within 200 ms of the restart (the restart command printed: error: still running)",
    },
  ],
])("a command prints an error and exits with status 0, %s", async (_, isDown, outcome) => {
  let height = 0;
  const check = async () => (isDown((height += 1)) ? down : { answers: 1, height });
  const { result } = await verify({ check, restart: complain, answersWithinMs: 200, healthyWithinMs: 200 });
  expect(result).toMatchObject(outcome);
});

test("does not count time during which the sidecar was suspended", async () => {
  let height = 0;
  let hasRecovered = false;
  let suspendedMs = 0;
  const check = async () => (hasRecovered ? { answers: 1, height: (height += 1) } : down);
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + suspendedMs };
  setTimeout(() => {
    suspendedMs = 1_500;
    setTimeout(() => (hasRecovered = true), 200);
  }, 100);
  const { result } = await verify({ check, clock, answersWithinMs: 1_000, healthyWithinMs: 1_000 });
  expect(result).toMatchObject({ ok: true });
});

/** A node that responds after some time, then produces blocks or not. */
function slow(answersAfterMs: number, advances: boolean) {
  const beganMs = systemClock.monotonicMs();
  let height = 7;
  return async () => {
    const isSilent = systemClock.monotonicMs() - beganMs < answersAfterMs;
    if (advances && !isSilent) height += 1;
    return isSilent ? down : { answers: 1, height };
  };
}

test("waits for a node that replays its log beyond the height limit, and reports until when", async () => {
  const { result, stages } = await verify({ check: slow(600, true), answersWithinMs: 20_000, healthyWithinMs: 300 });
  expect(result).toMatchObject({ ok: true });
  expect(stages[1]).toMatch(
    /^It was started and does not respond yet; it has until 20\d\d-\S+Z \(restart\.answersWithinMs\)\.$/,
  );
});

test("starts timing the height's advance at the first response", async () => {
  const { result, stages } = await verify({ check: slow(600, false), answersWithinMs: 20_000, healthyWithinMs: 300 });
  const message = "its height stayed at 7 within 300 ms of its first response";
  expect(result).toEqual({ ok: false, message, hasEnded: false });
  expect(stages.at(-1)).toMatch(/^It responds; its height must advance by 20\d\d-\S+Z \(restart\.healthyWithinMs\)\.$/);
});

test.each<[string, () => NodeStart]>([
  ["has exited", () => "not-running"],
  ["was replaced by its supervisor", () => systemClock.wallMs()],
])("does not wait for a log replay if the process %s", async (_, startedAt) => {
  const { result } = await verify({ check: slow(60_000, false), startedAt, answersWithinMs: 60_000 });
  expect(result).toEqual({
    ok: false,
    message: "its RPC did not respond within 2500 ms of the restart: its process exited",
    hasEnded: true,
  });
});

test("waits for a node to respond while its process runs", async () => {
  const startedAtMs = systemClock.wallMs();
  const node = { check: slow(1_500, true), startedAt: () => startedAtMs };
  const { result } = await verify({ ...node, answersWithinMs: 20_000, healthyWithinMs: 1_000 });
  expect(result).toMatchObject({ ok: true });
});

test.each([
  [1_000, 1_000],
  [120_000, 5_000],
])(
  "gives a node that could not be started as much time as one that exited (%i ms), at most five seconds",
  async (healthyWithinMs, atMostMs) => {
    const beganMs = systemClock.monotonicMs();
    const context = makeContext({ settings: { restart: { healthyWithinMs } }, health: { check: async () => down } });
    expect(await waitForResponse(context.signal, context)).toBe(false);
    const tookMs = systemClock.monotonicMs() - beganMs;
    expect(tookMs).toBeGreaterThanOrEqual(atMostMs);
    expect(tookMs).toBeLessThan(atMostMs + 500);
  },
);
