import { realpath, rm, stat, statfs, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { randomUUID } from "node:crypto";
import { runProcess } from "#daemon/bounded-process.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import { dataTie, tiesOf } from "#node/conf/ties.ts";
import { isInside, ownMountWords, realOf, whyNotWhole, type DataBoundsDependencies } from "./data-bounds.ts";
import type { UpgradeStore } from "../state/upgrade-record.ts";

/** Directory beside the data, on the same disk, in which upgrades work. */
const workDirectory = ".gatehouse-upgrade";

const metaTie = "chain.startup_config.init_config.meta_path";

/** The directories that an upgrade copies, or why it can't. */
export type FoundStores = Readonly<
  { ok: true; stores: readonly UpgradeStore[]; directory: string } | { ok: false; problem: string }
>;

/**
 * Finds the directories of a node's data, by its node.conf. Each is copied beside itself, so that it can be put back by a rename.
 *
 * @param others directories that may not lie in the data, because they are not put back with them.
 */
export async function findStores(
  document: ConfigDocument,
  { configPath, id, others }: Readonly<{ configPath: string; id: string; others: readonly string[] }>,
  dependencies: DataBoundsDependencies,
): Promise<FoundStores> {
  const ties = tiesOf(document, configPath);
  const told = [ties[dataTie], ties[metaTie]].filter((path) => path !== undefined);
  if (ties[dataTie] === undefined)
    return { ok: false, problem: `${configPath} does not say where the data are (${dataTie})` };
  const paths: string[] = [];
  for (const path of told) {
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined) return { ok: false, problem: `the data directory ${path} is not there` };
    if (!paths.some((known) => isInside(real, known))) paths.push(real);
  }
  const realOthers = await Promise.all(others.map(realOf));
  for (const path of paths) {
    const inside = realOthers.find((other) => isInside(other, path));
    if (inside !== undefined) {
      return {
        ok: false,
        problem: `${inside} lies in the data directory ${path}, which is put back as a whole; move it out of there`,
      };
    }
    const [own, above] = await Promise.all([stat(path), stat(dirname(path))]);
    if (own.dev !== above.dev) return { ok: false, problem: ownMountWords(path) };
  }
  const problem = await whyNotWhole(paths, dependencies);
  if (problem !== undefined) return { ok: false, problem };
  const stores = paths.map((path, index) => {
    const directory = join(dirname(path), workDirectory, id);
    const name = index === 0 ? "data" : `data-${index + 1}`;
    return { path, copy: join(directory, name), aside: join(directory, `${name}-of-the-new-version`) };
  });
  const [first] = paths;
  return { ok: true, stores, directory: join(dirname(first ?? "/"), workDirectory, id) };
}

/** What a copy takes. */
export type CopyCost = Readonly<{ bytes: number; freeBytes: number; isCloned: boolean }>;

/** Measures a data directory (`du`) and the room beside it, and tries whether the file system clones. Undefined where it can't be measured in time. */
export async function copyCost(
  { path }: UpgradeStore,
  { timeoutMs, signal }: Readonly<{ timeoutMs: number; signal: AbortSignal }>,
): Promise<CopyCost | undefined> {
  const command = ["du", "-s", "-B1", "--", path] as const;
  const measured = await runProcess({
    command: [...command],
    directory: "/",
    timeoutMs,
    outputLimitBytes: 65_536,
    signal,
  });
  if (!measured.ok) return undefined;
  const { bavail, bsize } = await statfs(path);
  return {
    bytes: Number.parseInt(measured.output, 10),
    freeBytes: bavail * bsize,
    isCloned: await clones(path, signal),
  };
}

async function clones(path: string, signal: AbortSignal): Promise<boolean> {
  const probe = join(dirname(path), `.gatehouse-clone-${randomUUID()}`);
  try {
    await writeFile(probe, "x".repeat(4_096));
    const command = ["cp", "--reflink=always", "--", probe, `${probe}.copy`] as const;
    const tried = await runProcess({
      command: [...command],
      directory: "/",
      timeoutMs: 5_000,
      outputLimitBytes: 4_096,
      signal,
    });
    return tried.ok;
  } catch {
    // Where nothing can be written beside the data, no copy can stand either: the copy itself says so.
    return false;
  } finally {
    for (const file of [probe, `${probe}.copy`]) await rm(file, { force: true }).catch(() => undefined);
  }
}
