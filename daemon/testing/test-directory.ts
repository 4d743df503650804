import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";

const prefix = join(tmpdir(), "gatehouse-test-");

/** Creates a directory that is removed when the test has finished; returns its real path. */
export async function makeTestDirectory(): Promise<string> {
  const directory = await realpath(await mkdtemp(prefix));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Creates a directory that is removed after the tests of the file or the group that calls this; returns its real path. */
export function makeSharedDirectory(): string {
  const directory = realpathSync(mkdtempSync(prefix));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
