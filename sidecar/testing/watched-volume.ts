import { pino } from "pino";
import { Registry } from "prom-client";
import { expect } from "vitest";
import { HangingFileSystem } from "#daemon/files/file-deadline.ts";
import { watchDisk } from "#health/disk-watch.ts";
import { createConditionBoard } from "#status/condition-board.ts";
import type { KubernetesApi } from "../upkeep/drivers/kubernetes-api.ts";
import { type GrowthLimits, createVolumeClaim } from "../volume/volume-claim.ts";
import { createVolumeGrowth } from "../volume/volume-growth.ts";

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
  const stopController = new AbortController();
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
  const grow = createVolumeGrowth(limits, {
    claim: createVolumeClaim(claim, api),
    mayAct,
    grownAt: { get: () => grownAtMs, set: keepGrownAt },
    events,
    metrics,
    clock,
    log,
  });
  const done = watchDisk(
    {
      freeRatio: 0.05,
      fullWithinSeconds: 0,
      forecastAfterSeconds: 1,
      fileTimeoutMs: deadlineMs,
      intervalMs,
      signal: stopController.signal,
    },
    {
      dataPath: () => "/data",
      readSpace: async () => buildSpace(disk.freeRatio),
      history: { get: () => undefined, set: () => undefined },
      onCheck: () => undefined,
      grow,
      board,
      metrics,
      clock,
      log,
    },
  );
  const condition = () => board.get("DiskSpaceSufficient");
  const until = async (reason: string) => expect.poll(() => condition()?.reason).toBe(reason);
  const untilMessage = async (message: RegExp | string) => expect.poll(() => condition()?.message).toMatch(message);
  const end = async () => {
    stopController.abort();
    await done;
  };
  return { time, reported, fails, metrics, condition, until, untilMessage, [Symbol.asyncDispose]: end };
}

/** Builds the space of a 500 GiB disk, or throws the error of a hanging file system. */
function buildSpace(freeRatio: number | string) {
  if (typeof freeRatio === "string") throw new HangingFileSystem(freeRatio);
  const totalBytes = 500 * 2 ** 30;
  const freeBytes = totalBytes * freeRatio;
  const usedBytes = totalBytes - freeBytes;
  return { totalBytes, usedBytes, freeBytes, freeBytesRatio: freeRatio, freeFilesRatio: 1, freeRatio };
}
