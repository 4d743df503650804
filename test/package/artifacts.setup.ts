import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    artifactsDirectory: string;
  }
}

/**
 * Creates a directory for a release's artifacts, which the first test that needs them builds. Removes it afterwards.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "gatehouse-artifacts-")));
  project.provide("artifactsDirectory", directory);
  return () => rm(directory, { recursive: true, force: true });
}
