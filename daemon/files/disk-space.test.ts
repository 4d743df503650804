import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { deriveDiskSpace, readDiskSpace } from "./disk-space.ts";

const disk = { bsize: 4_096, blocks: 1_000, bfree: 150, bavail: 100, files: 1_000, ffree: 500 };

test("counts blocks reserved for root as neither used nor free", () => {
  expect(deriveDiskSpace(disk)).toEqual({
    totalBytes: 4_096_000,
    usedBytes: 850 * 4_096,
    freeBytes: 100 * 4_096,
    freeBytesRatio: 100 / 950,
    freeFilesRatio: 0.5,
    freeRatio: 100 / 950,
  });
});

test("limits free space by free inodes, if their number is fixed", () => {
  expect(deriveDiskSpace({ ...disk, ffree: 10 })).toMatchObject({ freeBytesRatio: 100 / 950, freeRatio: 0.01 });
  expect(deriveDiskSpace({ ...disk, files: 0, ffree: 0 })).toMatchObject({ freeFilesRatio: 1, freeRatio: 100 / 950 });
});

test("does not report a file system without blocks as full", () => {
  const none = { bsize: 4_096, blocks: 0, bfree: 0, bavail: 0, files: 0, ffree: 0 };
  expect(deriveDiskSpace(none)).toMatchObject({ freeBytes: 0, freeRatio: 1 });
});

test("rounds the used share up, like df", async () => {
  const { freeBytesRatio } = await readDiskSpace(tmpdir());
  const dfOutput = execFileSync("df", ["-P", tmpdir()], { encoding: "utf8" });
  const usedPercent = Number(/(\d+)%/.exec(dfOutput)?.[1]);
  expect(Math.abs(usedPercent - 100 * (1 - freeBytesRatio))).toBeLessThanOrEqual(1.1);
});
