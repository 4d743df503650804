import { cp, rename, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Logger } from "#daemon/log/log.ts";
import { createConfigVersions } from "../config/config-versions.ts";
import { parseConfig, type ConfigDocument } from "#node/conf/document.ts";
import { dataPathKey, specifiesOwner, findOwnershipDifference, readNodeValues } from "#node/conf/node-values.ts";
import { upkeepStateFile, type UpkeepState } from "../state/upkeep-state.ts";

/** Default state directory before state became per node, relative to the sidecar's initial working directory. */
export const oldStateDirectory = ".gatehouse/sidecar";

/** Owner of a state without an identity, as determined from its copies of node.conf. */
export type CopyComparison = Readonly<
  | { kind: "same" | "unknown" }
  | { kind: "another"; why: string; /** Value for `upkeep.movedFrom` if it is the same node. */ remembered: string }
>;

/** A node that may own a state. */
export type StateOwner = Readonly<{
  /** Directories against which a copy's relative paths are resolved: the copy's own, then those of other versions' layouts. */
  places: readonly string[];
  document: ConfigDocument | undefined;
  /** `upkeep.movedFrom`. */
  movedFrom: readonly string[];
}>;

/**
 * Compares the stored copies of node.conf with the node's own, by their data and keys, which are unique per node. Returns `unknown` if
 * either is missing or specifies neither data nor keys.
 */
export async function compareCopies(
  directory: string,
  { places, document, movedFrom }: StateOwner,
): Promise<CopyComparison> {
  const versions = createConfigVersions(directory);
  const bytes = (await versions.recall("last-good")) ?? (await versions.recall("healthy"));
  const copy = bytes === undefined ? undefined : parseConfig(bytes);
  if (document === undefined || copy?.ok !== true) return { kind: "unknown" };
  const [pathsDirectory = ""] = places;
  const own = readNodeValues(document, pathsDirectory);
  const copies = places.map((place) => readNodeValues(copy.document, place));
  const isSame = copies.some((copied) => findOwnershipDifference(copied, own) === undefined);
  if (isSame) return { kind: specifiesOwner(own) ? "same" : "unknown" };
  const data = copies.map((copied) => copied[dataPathKey] ?? "none");
  if (data.some((path) => movedFrom.includes(path))) return { kind: "same" };
  const why = findOwnershipDifference(copies[0] ?? {}, own) ?? "it has other data or keys";
  return { kind: "another", why, remembered: data[0] ?? "none" };
}

/** Whether a sidecar that used this state has acted on its node. */
export function hasActed({ store: { database }, directory }: UpkeepState): boolean {
  const deeds = database.prepare(
    "SELECT (SELECT count(*) FROM restart) + (SELECT count(*) FROM event WHERE kind IN ('write', 'prune', 'restart')) AS deeds",
  );
  return Number(deeds.get()?.["deeds"] ?? 0) > 0 || existsSync(join(directory, "versions"));
}

/**
 * Copies an older version's state from the current directory to this node's state directory, if its copies of node.conf belong to this
 * node. Leaves the original in place. Copies the database last, so that an interrupted copy is repeated.
 */
export async function copyOldState(
  from: string,
  to: string,
  node: StateOwner,
  { log }: Readonly<{ log: Logger }>,
): Promise<void> {
  if (!existsSync(join(from, upkeepStateFile))) return;
  const match = await compareCopies(from, node);
  if (match.kind !== "same") {
    const why = match.kind === "another" ? match.why : "it does not record which node it belongs to";
    return log.info(
      { event: "old-state-ignored", from, why },
      "state in the current directory is ignored: it belongs to another node",
    );
  }
  // Read-only, because the database may belong to another version, and only that version may change it.
  using database = new DatabaseSync(join(from, upkeepStateFile), { readOnly: true });
  if (database.prepare("SELECT 1 FROM fact WHERE name = 'identity'").get() !== undefined) {
    return log.info(
      { event: "old-state-ignored", from },
      "state in the current directory is ignored: it was placed there intentionally",
    );
  }
  for (const name of ["last-good.conf", "healthy.conf", "versions"]) {
    if (existsSync(join(from, name))) await cp(join(from, name), join(to, name), { recursive: true });
  }
  const copy = join(to, `${upkeepStateFile}.copy`);
  await rm(copy, { force: true });
  database.prepare("VACUUM INTO ?").run(copy);
  await rename(copy, join(to, upkeepStateFile));
  log.info({ event: "state-migrated", from, to }, "migrated an older version's state from the current directory");
}
