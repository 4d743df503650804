import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { DriverError } from "../drivers/driver.ts";
import { stopNode, type StopStartDependencies } from "./stop-and-start.ts";

const mark = { pid: 4_711, startTicks: 1 };

/** `runsForLooks`: the number of checks for which its process keeps running. */
function closed({ seen = [mark], runsForLooks = 0, fails = false }) {
  let looks = 0;
  const dependencies: StopStartDependencies = {
    driver: {
      name: "ops",
      restart: async () => ({}),
      start: async () => ({}),
      stop: async () => {
        if (fails) throw new DriverError("ops exited with status 1");
        return {};
      },
    },
    holders: {
      now: async () => seen,
      runs: async () => {
        looks += 1;
        return looks <= runsForLooks;
      },
    },
    check: async () => ({ answers: 1, failure: { reason: "ConnectionRefused", message: "", isPortClosed: true } }),
    clock: systemClock,
    signal: new AbortController().signal,
  };
  return { dependencies, looks: () => looks };
}

test("does not count a node as stopped that closed its port but still writes", async () => {
  const { dependencies, looks } = closed({ runsForLooks: 1 });
  await stopNode(20_000, undefined, dependencies);
  expect(looks()).toBe(2);
});

test("does not count a node as stopped whose process never exits", async () => {
  const { dependencies } = closed({ seen: [], runsForLooks: Number.POSITIVE_INFINITY });
  await expect(stopNode(1, mark, dependencies)).rejects.toThrow(
    /^its process 4711 still runs 1 ms after its stop \(restart\.timeoutMs\)$/,
  );
});

test("trusts a failed stop command only if no process is visible, and otherwise waits for the process to exit", async () => {
  const unseen = closed({ seen: [], fails: true });
  await expect(stopNode(1, undefined, unseen.dependencies)).rejects.toThrow("the node's process is invisible");
  const seen = closed({ fails: true });
  await stopNode(1, undefined, seen.dependencies);
});
