import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { stringify } from "yaml";
import type { Manifest } from "./deployed-stack.ts";

type GoldenSet = "stack" | "real-node" | "watched" | "watchers";

/** Base for a set that contains only differences, and the base's files that the set omits. */
type GoldenBase = Readonly<{ set: GoldenSet; without: readonly string[] }>;

/** Returns the directory that holds a set of golden objects: one YAML file per object, plus one per container if an object has several. */
export function locateGoldenDirectory(set: GoldenSet): string {
  return join(import.meta.dirname, "golden", set);
}

/**
 * Asserts that objects match the golden files, and that every file has an object. An object identical to the one in `base` has no file in
 * the set itself. `vitest --update` writes the files, but new ones only at the end of its run: run it twice, and remove the files that have
 * become identical to `base`.
 */
export async function expectGolden(set: GoldenSet, manifests: readonly Manifest[], base?: GoldenBase): Promise<void> {
  const directory = locateGoldenDirectory(set);
  const pieces = manifests.flatMap(listPieces);
  const other = pieces.filter(({ file, text }) => base === undefined || readGolden(base.set, file) !== text);
  for (const { file, text } of other) await expect(text).toMatchFileSnapshot(join(directory, file));
  expect(readdirSync(directory).toSorted()).toEqual(other.map(({ file }) => file).toSorted());
  const files = new Set(pieces.map(({ file }) => file));
  const missing = base === undefined ? [] : readdirSync(locateGoldenDirectory(base.set));
  expect(missing.filter((file) => !files.has(file))).toEqual(base?.without ?? []);
}

function readGolden(set: GoldenSet, file: string): string | undefined {
  const path = join(locateGoldenDirectory(set), file);
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

type Piece = Readonly<{ file: string; text: string }>;

/** Lists an object's files: one, plus one per container if it runs several. */
function listPieces(manifest: Manifest): readonly Piece[] {
  const file = `${manifest.kind}-${manifest.metadata.name}`;
  // A ConfigMap has no `spec`.
  const { template }: Partial<Workload> = manifest.spec ?? {};
  if (template === undefined || listContainers(template.spec).length < 2) return [toPiece(file, manifest)];
  const containers = listContainers(template.spec).map((container) => toPiece(`${file}.${container.name}`, container));
  const spec = {
    ...template.spec,
    containers: listNames(template.spec.containers),
    ...(template.spec.initContainers && { initContainers: listNames(template.spec.initContainers) }),
  };
  return [toPiece(file, { ...manifest, spec: { ...manifest.spec, template: { ...template, spec } } }), ...containers];
}

type Workload = Readonly<{ template: Readonly<{ spec: PodSpec }> }>;
type Container = Readonly<{ name: string }>;
type PodSpec = Readonly<{ containers: readonly Container[]; initContainers?: readonly Container[] }>;

function listContainers({ containers, initContainers = [] }: PodSpec): readonly Container[] {
  return [...initContainers, ...containers];
}

function listNames(containers: readonly Container[]): readonly string[] {
  return containers.map(({ name }) => name);
}

function toPiece(file: string, value: unknown): Piece {
  return { file: `${file}.yaml`, text: stringify(value, { lineWidth: 0, sortMapEntries: true }) };
}
