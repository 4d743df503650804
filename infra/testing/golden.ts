import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { stringify } from "yaml";
import type { Manifest } from "./deployed-stack.ts";

type GoldenSet = "stack" | "real-node" | "watched" | "watchers";

/** Where a set of golden objects stands: one YAML file each, small enough to be read in a change. */
export function locateGoldenDirectory(set: GoldenSet): string {
  return join(import.meta.dirname, "golden", set);
}

/**
 * Expects objects to be the golden ones, each its file, and no file without an object. `vitest --update` writes them, a new
 * one at the end of its run: run it twice then.
 */
export async function expectGolden(set: GoldenSet, manifests: readonly Manifest[]): Promise<void> {
  const directory = locateGoldenDirectory(set);
  for (const manifest of manifests) {
    const text = stringify(manifest, { lineWidth: 0, sortMapEntries: true });
    await expect(text).toMatchFileSnapshot(join(directory, fileOf(manifest)));
  }
  expect(readdirSync(directory).toSorted()).toEqual(manifests.map(fileOf).toSorted());
}

function fileOf({ kind, metadata }: Manifest): string {
  return `${kind}-${metadata.name}.yaml`;
}
