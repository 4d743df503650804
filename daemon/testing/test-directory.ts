import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Creates a directory that is removed when the test has finished; returns its real path. */
export async function makeTestDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "gatehouse-test-")));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
