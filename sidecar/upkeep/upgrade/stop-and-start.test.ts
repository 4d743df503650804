import { expect, test } from "vitest";
import { makeContext } from "../../testing/upkeep-context.ts";
import { DriverError } from "../drivers/driver.ts";
import { stopNode, type StopStartContext } from "./stop-and-start.ts";

const mark = { pid: 4_711, startTicks: 1 };

/** `runsForChecks`: the number of checks for which its process keeps running. */
function closed({ seen = [mark], runsForChecks = 0, fails = false, timeoutMs = 1 }) {
  let checkCount = 0;
  const context = makeContext({
    settings: { restart: { timeoutMs } },
    driver: {
      stop: async () => {
        if (fails) throw new DriverError("ops exited with status 1");
        return {};
      },
    },
    holders: {
      now: async () => seen,
      runs: async () => {
        checkCount += 1;
        return checkCount <= runsForChecks;
      },
    },
    health: { check: async () => ({ answers: 1, failure: { isPortClosed: true } }) },
  });
  return { context: context as StopStartContext, checkCount: () => checkCount };
}

test("does not count a node as stopped if it closed its port but is still writing", async () => {
  const { context, checkCount } = closed({ runsForChecks: 1, timeoutMs: 20_000 });
  await stopNode(undefined, context);
  expect(checkCount()).toBe(2);
});

test("does not count a node as stopped if its process never exits", async () => {
  const { context } = closed({ seen: [], runsForChecks: Number.POSITIVE_INFINITY });
  await expect(stopNode(mark, context)).rejects.toThrow(
    /^its process 4711 is still running 1 ms after its stop \(restart\.timeoutMs\)$/,
  );
});

test("trusts a failed stop command only if no process is visible, and otherwise waits for the process to exit", async () => {
  const unobservedStop = closed({ seen: [], fails: true });
  await expect(stopNode(undefined, unobservedStop.context)).rejects.toThrow("the node's process is invisible");
  const seen = closed({ fails: true });
  await stopNode(undefined, seen.context);
});
