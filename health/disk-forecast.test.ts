import { expect, test } from "vitest";
import { deriveDiskSpace } from "#daemon/files/disk-space.ts";
import { deriveDiskCondition } from "./disk-watch.ts";
import { forecastDisk, rememberDiskUsage, type DiskHistory } from "./disk-forecast.ts";

const hourMs = 3_600_000;
const hours = 3_600;
const gibibyte = 2 ** 30;

function history(...usedGibibytes: readonly number[]): DiskHistory {
  return {
    path: "/data",
    uses: usedGibibytes.map((used, hour) => ({ atMs: hour * hourMs, usedBytes: used * gibibyte })),
  };
}

test("follows the trend of the disk usage, unaffected by one outlier", () => {
  const steady = forecastDisk(history(10, 11, 12, 13, 14), 8 * gibibyte, 3 * hours);
  expect(steady).toEqual({ fullInSeconds: 8 * hours, seenSeconds: 4 * hours });
  expect(forecastDisk(history(10, 11, 14, 13, 14), 8 * gibibyte, 3 * hours)?.fullInSeconds).toBeCloseTo(8 * hours, -3);
});

test("makes no forecast before hours of data, or for a disk that isn't filling up", () => {
  expect(forecastDisk(history(10, 11, 12), 8 * gibibyte, 3 * hours)).toBeUndefined();
  expect(forecastDisk(history(10), 8 * gibibyte, 0)).toBeUndefined();
  expect(forecastDisk(history(10, 10, 10, 10), 8 * gibibyte, 3 * hours)).toBeUndefined();
  expect(forecastDisk(history(13, 12, 11, 10), 8 * gibibyte, 3 * hours)).toBeUndefined();
});

test("keeps one value every ten minutes, for one path and one day, and none from the future", () => {
  const minute = 60_000;
  let kept: DiskHistory | undefined;
  for (let atMs = 0; atMs <= 30 * hourMs; atMs += minute)
    kept = rememberDiskUsage(kept, "/data", { atMs, usedBytes: 1 });
  expect(kept?.uses.length).toBe(145);
  expect(kept?.uses[0]?.atMs).toBe(6 * hourMs);
  const putBack = rememberDiskUsage(kept, "/data", { atMs: 7 * hourMs + 15 * minute, usedBytes: 2 });
  expect(putBack.uses.map(({ atMs }) => (atMs - 6 * hourMs) / minute)).toEqual([0, 10, 20, 30, 40, 50, 60, 70]);
  expect(rememberDiskUsage(kept, "/other", { atMs: 31 * hourMs, usedBytes: 2 }).uses).toHaveLength(1);
});

const limits = { freeRatio: 0.1, fullWithinSeconds: 24 * hours };

/** A disk of 100 GiB and 100 files, with this many free. */
function check(free: number, freeFiles = 50) {
  const blocks = { bsize: gibibyte, blocks: 100, bfree: free, bavail: free };
  return { path: "/data", ...deriveDiskSpace({ ...blocks, files: 100, ffree: freeFiles }) };
}
const half = check(50);

test("reports a half-empty disk that will be full in two hours, with the reason", () => {
  expect(deriveDiskCondition(half, { fullInSeconds: 2.4 * hours, seenSeconds: 5 * hours }, limits)).toEqual({
    type: "DiskSpaceSufficient",
    status: "False",
    reason: "FullSoon",
    message:
      "50.0 GiB (50 %) are free at /data. At the rate of the last 5.0 hours, it will be full in 2.4 hours. " +
      "Expand the disk, or check that auto-pruning is on and advances.",
  });
});

test("accepts a disk with the configured share and time left, and ignores forecasts if the time is 0", () => {
  expect(deriveDiskCondition(half, undefined, limits)).toMatchObject({
    status: "True",
    message: "50.0 GiB (50 %) are free at /data.",
  });
  const soon = { fullInSeconds: 600, seenSeconds: 5 * hours };
  expect(deriveDiskCondition(half, { ...soon, fullInSeconds: 25 * hours }, limits).status).toBe("True");
  expect(deriveDiskCondition(half, soon, { ...limits, fullWithinSeconds: 0 }).status).toBe("True");
  expect(deriveDiskCondition(check(5), undefined, limits)).toMatchObject({ status: "False", reason: "Low" });
});

test("reports a disk with free bytes but hardly any inodes left", () => {
  expect(deriveDiskCondition(check(50, 4), undefined, limits)).toMatchObject({
    status: "False",
    reason: "Low",
    message:
      "50.0 GiB (50 %) are free at /data. 4 % of its inodes are free (df -i). " +
      "Expand the disk, or check that auto-pruning is on and advances.",
  });
});
