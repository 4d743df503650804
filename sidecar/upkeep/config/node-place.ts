import { stat } from "node:fs/promises";
import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import { createWriterLock, type WriterLock } from "./writer-lock.ts";
import { createFileDeadline, HangingFileSystem, type FileDeadline } from "#daemon/files/file-deadline.ts";
import type { ConfigReading } from "./config-file.ts";
import { watchConfig, type ConfigWatch } from "./config-watch.ts";
import { nodeFamilies } from "#node/families.ts";
import { resolveNodeLayout, type NodeLayout, type NodeLayoutSettings } from "#node/layout.ts";
import { nodeReleases, type NodeVersion } from "#node/versions.ts";
import { readWithDeadline } from "./with-deadline.ts";

/** Place of the node, with the watch on its configuration and the right to write it. */
export type NodePlace = AsyncDisposable &
  Readonly<{
    layout: () => NodeLayout;
    lock: () => WriterLock;
    watch: ConfigWatch;
    /** Reads node.conf; a file system that hangs is a problem like any other. */
    read: () => Promise<ConfigReading>;
    /** For calls of the file system that node.conf is on. */
    fileDeadline: FileDeadline;
    /** The same for the node's data, and for its keys: each may be on its own file system, and one that hangs must not stop the others. */
    dataDeadline: FileDeadline;
    keyDeadline: FileDeadline;
    /** The same for programs with an absolute path, which may be anywhere. */
    programDeadlines: Readonly<{ driver: FileDeadline; nodeCli: FileDeadline }>;
    /** Follows a node whose upgrade changed its layout, once that layout is there. */
    follow: (version: NodeVersion | undefined) => Promise<PlaceFollowed>;
  }>;

/** Outcome of following a node. `doubt`: the version's own layout is not there, so that the place, or the version, is in doubt. */
export type PlaceFollowed = Readonly<{ moved: boolean; doubt?: string }>;

/**
 * Finds the node and watches its configuration.
 *
 * @throws {StartupError} when the settings name no node.
 */
export function findNode(
  settings: NodeLayoutSettings,
  { configLimitBytes, fileTimeoutMs }: Readonly<{ configLimitBytes: number; fileTimeoutMs: number }>,
  { log, clock, signal, onEvent }: Readonly<{ log: Logger; clock: Clock; signal: AbortSignal; onEvent: () => void }>,
): NodePlace {
  let layout = resolveNodeLayout(settings);
  let lock = createWriterLock(layout.configPath);
  const createDeadline = () =>
    createFileDeadline(
      { withinMs: fileTimeoutMs, setting: "upkeep.fileTimeoutMs", signal },
      { clock, onBack: onEvent },
    );
  const fileDeadline = createDeadline();
  const watch = watchConfig({ path: layout.configPath, onEvent }, { log });
  /** Undefined while its file system hangs. */
  const isThere = async (path: string) => {
    try {
      return (await fileDeadline.call(`looking at ${path}`, () => stat(path).catch(() => undefined))) !== undefined;
    } catch (error) {
      if (!(error instanceof HangingFileSystem)) throw error;
      return undefined;
    }
  };
  return {
    layout: () => layout,
    lock: () => lock,
    watch,
    fileDeadline,
    dataDeadline: createDeadline(),
    keyDeadline: createDeadline(),
    programDeadlines: { driver: createDeadline(), nodeCli: createDeadline() },
    read: () => readWithDeadline(layout.configPath, configLimitBytes, fileDeadline),
    follow: async (version) => {
      const isHere = await isThere(layout.binDirectory);
      const hasConfig = await isThere(layout.configPath);
      if (isHere === undefined || hasConfig === undefined) return { moved: false };
      // Where nothing is left that shows a family, the node is still of the one that it was of.
      const families = [layout.family, ...nodeFamilies] as const;
      // Without a time limit, the next call queries the file system for what is not known: the family without its configuration, and the layout without a version.
      const place = hasConfig ? { ...settings, ...selectFamily(layout) } : settings;
      const next = resolveNodeLayout(place, version, { releases: nodeReleases, families });
      const isNextThere = next.binDirectory === layout.binDirectory ? isHere : await isThere(next.binDirectory);
      if (isNextThere !== true && isHere) {
        return next.kind === layout.kind
          ? { moved: false }
          : { moved: false, doubt: describeDoubt(version, next, layout) };
      }
      const moved = next.configPath !== layout.configPath;
      layout = next;
      if (!moved) return { moved };
      lock[Symbol.dispose]();
      lock = createWriterLock(next.configPath);
      await watch.renew(next.configPath);
      return { moved };
    },
    [Symbol.asyncDispose]: async () => {
      // The end of the process closes both; a close on a file system that hangs would keep the process from ending.
      if (fileDeadline.hangs()) return;
      await watch[Symbol.asyncDispose]();
      lock[Symbol.dispose]();
    },
  };
}

/** Settings by which a node whose configuration is there stays of its family; where that has its own place, it stays there in every layout. */
function selectFamily({ family, configPath }: NodeLayout): Pick<NodeLayoutSettings, "family" | "configPath"> {
  return { family: family.name, ...(family.configPlaces.length > 1 ? { configPath } : {}) };
}

function describeDoubt(version: NodeVersion | undefined, next: NodeLayout, { binDirectory }: NodeLayout): string {
  const cause = version === undefined ? "the layout on disk changed" : `a node of ${version.text}`;
  return `${cause} would run in ${next.binDirectory}, which is not there; what is there is ${binDirectory}, so set node.version (GATEHOUSE_SIDECAR_NODE_VERSION) to that of the node's release, or finish the upgrade`;
}
