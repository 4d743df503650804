import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { listRelease } from "./program-files.ts";

/** An empty directory. */
function directory(): string {
  const made = mkdtempSync(join(tmpdir(), "gatehouse-release-"));
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

const tooLarge = (source: string) =>
  `${source} has more than 1000 files or 8 GiB; specify the directory of the binaries`;

test("accepts a release of 1,000 files and rejects 1,001", async () => {
  const release = directory();
  for (let at = 0; at < 1_000; at += 1) writeFileSync(join(release, `program-${at}`), "");
  expect(await listRelease(release)).toHaveLength(1_000);
  writeFileSync(join(release, "one-more"), "");
  await expect(listRelease(release)).rejects.toThrow(tooLarge(release));
});

test("rejects a release of more than 8 GiB before reading it", async () => {
  const release = directory();
  const path = join(release, "data");
  writeFileSync(path, "");
  truncateSync(path, 8 * 1024 ** 3 + 1);
  await expect(listRelease(release)).rejects.toThrow(tooLarge(release));
});
