import { pino } from "pino";
import { Registry } from "prom-client";
import { expect } from "vitest";
import { createConditionBoard } from "#status/condition-board.ts";
import type { KubernetesApi } from "../upkeep/drivers/kubernetes-api.ts";
import { type GrowthLimits, createVolumeClaim } from "../volume/volume-claim.ts";
import { watchVolume } from "../volume/volume-watch.ts";

const intervalMs = 5;
const deadlineMs = 40_000;

/** Starts watching a claim, with the test's disk and clock. Disposing of the watch stops it. */
export function startWatchedVolume(
  limits: GrowthLimits,
  {
    api,
    disk,
    claim,
    mayAct = () => true,
  }: Readonly<{ api: KubernetesApi; disk: { freeRatio: number | string }; claim: string; mayAct?: () => boolean }>,
) {
  const stopping = new AbortController();
  const time = { ms: 10_000_000 };
  const clock = { wallMs: () => time.ms, monotonicMs: () => time.ms };
  const reported: string[] = [];
  const events = {
    add: (kind: string, message: string) => void reported.push(`${kind}: ${message}`),
    begin: () => undefined,
    fail: () => undefined,
    list: () => [],
  };
  const metrics = new Registry();
  const log = pino({ level: "silent" });
  const board = createConditionBoard({ log, metrics, clock, events });
  let grownAtMs: number | undefined;
  const fails: { why: Error | undefined } = { why: undefined };
  const keepGrownAt = (atMs: number | undefined) => {
    if (fails.why !== undefined) throw fails.why;
    grownAtMs = atMs;
  };
  const done = watchVolume(
    { ...limits, intervalMs, signal: stopping.signal },
    {
      claim: createVolumeClaim(claim, api),
      freeRatio: () => Promise.resolve(disk.freeRatio),
      mayAct,
      grownAt: { get: () => grownAtMs, set: keepGrownAt },
      board,
      events,
      metrics,
      clock,
      log,
    },
  );
  const condition = () => board.get("VolumeSizeSufficient");
  const until = async (reason: string) => expect.poll(() => condition()?.reason, { timeout: deadlineMs }).toBe(reason);
  const end = async () => {
    stopping.abort();
    await done;
  };
  return { time, reported, fails, metrics, condition, until, [Symbol.asyncDispose]: end };
}
