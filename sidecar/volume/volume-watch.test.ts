import { expect, test } from "vitest";
import { createFileDeadline } from "#daemon/files/file-deadline.ts";
import { measureFreeRatio } from "./volume-watch.ts";

const clock = { wallMs: () => 0, monotonicMs: () => performance.now() };
const fileDeadline = createFileDeadline(
  { withinMs: 20, signal: new AbortController().signal },
  { clock, onBack: () => undefined },
);

test("the free share of a volume is a number, or why nobody knows it", async () => {
  expect(await measureFreeRatio("/", fileDeadline)).toBeGreaterThanOrEqual(0);
  expect(await measureFreeRatio("/nowhere", fileDeadline)).toBe(
    "The node's data directory /nowhere can't be read (ENOENT); set node.dataPath, or mount it in the sidecar.",
  );
  expect(await measureFreeRatio(undefined, fileDeadline)).toContain("The node's data directory is not known yet");
});

test("a volume whose file system hangs is not waited for beyond the time that a file may take", async () => {
  await expect(fileDeadline.call("reading /data", () => new Promise<never>(() => undefined))).rejects.toThrow(
    "the file system does not respond",
  );
  expect(await measureFreeRatio("/", fileDeadline)).toMatch(
    /^reading \/data has hung since .*the file system does not respond/,
  );
});
