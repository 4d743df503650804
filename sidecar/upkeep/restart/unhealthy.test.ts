import { expect, test } from "vitest";
import { systemClock } from "#daemon/clock.ts";
import { unknownHealth, type NodeFault } from "#health/node-health.ts";
import { observeProcess } from "./restart-observation.ts";
import { explainHung, explainUnhealthy } from "./unhealthy.ts";

const aDayMs = 86_400_000;

/** What is said of a node that gave no answer for a day, for this reason, and has answered before. */
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
  return { explained: await explain(), silence: process.now().silence };
}

test("a node that is silent for a day is unwell", async () => {
  const { explained, silence } = await explainSilence("TimedOut");
  expect(explained[0]).toContain("the node has been unwell for 86400 s: TimedOut");
  expect(silence).toMatchObject({ sinceMs: 0 });
});

test("a node whose name nobody resolves was not asked, so that it is neither unwell nor silent, and is not restarted", async () => {
  expect(await explainSilence("NameUnresolved")).toEqual({ explained: [undefined, undefined], silence: undefined });
});
