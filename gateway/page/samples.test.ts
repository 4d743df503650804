import { expect, test } from "vitest";
import { buildColumns, type Sample } from "./history.ts";

/** Checks at intervals of five seconds, by height; undefined means no response. */
function createSamples(heights: readonly (number | undefined)[], rest: Partial<Sample> = {}): readonly Sample[] {
  return heights.map((height, index) => ({
    atMs: index * 5_000,
    monotonicMs: index * 5_000,
    height,
    latencyMs: height === undefined ? undefined : 3,
    backlog: undefined,
    calls: 0,
    errors: 0,
    limited: 0,
    ...rest,
  }));
}

test("reports blocks per minute over the last minute, and none for a stalled height", () => {
  const risingHeights = Array.from({ length: 13 }, (_, index) => 100 + index * 5);
  const stalledHeights = Array.from({ length: 13 }, () => 160);
  const { blocksPerMinute } = buildColumns(createSamples([...risingHeights, ...stalledHeights]));
  expect(blocksPerMinute[12]).toBe(60);
  expect(blocksPerMinute[18]).toBe(30);
  expect(blocksPerMinute.at(-1)).toBe(0);
});

test("reports no rate across a node outage, or over less than ten seconds", () => {
  const { blocksPerMinute, rpcMs } = buildColumns(createSamples([100, 105, 110, undefined, 400, 405, 410]));
  expect(blocksPerMinute).toEqual([null, null, 60, null, null, null, 60]);
  expect(rpcMs).toEqual([3, 3, 3, null, 3, 3, 3]);
});

test("reports blocks between samples more than a minute apart", () => {
  const far = [0, 600, 1_200].map((height, index) => ({
    ...createSamples([height])[0]!,
    monotonicMs: index * 720_000,
  }));
  expect(buildColumns(far).blocksPerMinute).toEqual([null, 50, 50]);
});

test("ignores a clock that is set back, and never reports a negative rate after the height drops", () => {
  const back = createSamples([100, 105, 110]).map((sample) => ({ ...sample, atMs: 1_000_000 - sample.atMs }));
  expect(buildColumns(back).blocksPerMinute).toEqual([null, null, 60]);
  expect(buildColumns(createSamples([100, 90, 80])).blocksPerMinute).toEqual([null, null, 0]);
});

test("reports requests per second, and no value if no data was collected", () => {
  const calls = createSamples([1, 2, 3]).map((sample, index) => ({ ...sample, calls: index * 210, errors: index * 5 }));
  const columns = buildColumns(calls);
  expect(columns.requestsPerSecond).toEqual([null, 42, 42]);
  expect(columns.errorsPerSecond).toEqual([null, 1, 1]);
  expect(columns.pruneBacklog).toEqual([null, null, null]);
});
