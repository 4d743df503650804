import { expect, test } from "vitest";
import { createFileDeadline } from "#daemon/files/file-deadline.ts";
import { measureFreeRatio } from "./volume-watch.ts";

const clock = { wallMs: () => 0, monotonicMs: () => performance.now() };
const fileDeadline = createFileDeadline(
  { withinMs: 20, setting: "upkeep.fileTimeoutMs", signal: new AbortController().signal },
  { clock, onBack: () => undefined },
);

test("the free share of a volume is a number, or why nobody knows it", async () => {
  expect(await measureFreeRatio("/", fileDeadline)).toBeGreaterThanOrEqual(0);
  expect(await measureFreeRatio("/nowhere", fileDeadline)).toBe(
    "The node's data directory /nowhere can't be looked at (ENOENT); set node.dataPath, or mount it for the sidecar.",
  );
  expect(await measureFreeRatio(undefined, fileDeadline)).toContain("It is not known yet where the node's data are");
});

test("a volume whose file system hangs is not waited for beyond the time that a file may take", async () => {
  await expect(fileDeadline.call("reading /data", () => new Promise<never>(() => undefined))).rejects.toThrow("hangs");
  expect(await measureFreeRatio("/", fileDeadline)).toMatch(
    /^reading \/data has not come back since .*its file system hangs/,
  );
});
