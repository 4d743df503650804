import { expect, test } from "vitest";
import { systemClock } from "../../clock.ts";
import type { PushLook } from "../observe/push-watch.ts";
import { restartAndVerify } from "./restart-verification.ts";

/** Restarts a node that comes back at once, with a Pushgateway that answers as given. */
async function verified(lastPush: () => PushLook): Promise<boolean> {
  let height = 0;
  const options = { healthyWithinMs: 5_000, metricsWithinMs: 50, signal: new AbortController().signal };
  const look = async () => ({ answers: 1, height: (height += 1) });
  const { ok } = await restartAndVerify(async () => undefined, options, {
    clock: systemClock,
    look,
    lastPush: async () => lastPush(),
  });
  return ok;
}

test.each<[boolean, PushLook["state"]]>([
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
