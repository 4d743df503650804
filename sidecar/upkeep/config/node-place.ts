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

/** Location of the node, with the watch on its configuration and the right to write it. */
export type NodeLocation = AsyncDisposable &
  Readonly<{
    layout: () => NodeLayout;
    lock: () => WriterLock;
    watch: ConfigWatch;
    /** Reads node.conf; reports a hung file system as a problem. */
    read: () => Promise<ConfigReading>;
    /** Deadline for calls to node.conf's file system. */
    fileDeadline: FileDeadline;
    /** Deadlines for the node's data and keys: each may be on its own file system, and a hung one must not stall the others. */
    dataDeadline: FileDeadline;
    keyDeadline: FileDeadline;
    /** Deadlines for programs with an absolute path, on any file system. */
    programDeadlines: Readonly<{ driver: FileDeadline; nodeCli: FileDeadline }>;
    /** Follows a node whose upgrade changed its layout, once that layout exists. */
    follow: (version: NodeVersion | undefined) => Promise<PlaceFollowed>;
  }>;

/** Outcome of following a node. `doubt`: the version's own layout doesn't exist, so that the location or the version is in doubt. */
export type PlaceFollowed = Readonly<{ moved: boolean; doubt?: string }>;

/**
 * Finds the node and watches its configuration.
 *
 * @throws {StartupError} when the settings specify no node.
 */
export function findNode(
  settings: NodeLayoutSettings,
  { configLimitBytes, fileTimeoutMs }: Readonly<{ configLimitBytes: number; fileTimeoutMs: number }>,
  { log, clock, signal, onEvent }: Readonly<{ log: Logger; clock: Clock; signal: AbortSignal; onEvent: () => void }>,
): NodeLocation {
  let layout = resolveNodeLayout(settings);
  let lock = createWriterLock(layout.configPath);
  const createDeadline = () =>
    createFileDeadline(
      { withinMs: fileTimeoutMs, setting: "upkeep.fileTimeoutMs", signal },
      { clock, onBack: onEvent },
    );
  const fileDeadline = createDeadline();
  const watch = watchConfig({ path: layout.configPath, onEvent }, { log });
  /** Returns undefined while the file system hangs. */
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
      // If nothing identifies the family any more, the node keeps its previous one.
      const families = [layout.family, ...nodeFamilies] as const;
      // Without a time limit, the next call queries the file system for unknown values: the family if there is no configuration, the layout
      // if there is no version.
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
      // Process exit closes both; a close on a hung file system would block the exit.
      if (fileDeadline.hangs()) return;
      await watch[Symbol.asyncDispose]();
      lock[Symbol.dispose]();
    },
  };
}

/**
 * Returns the settings that keep a node with an existing configuration in its family; if that configuration has its own path, it stays
 * there in every layout.
 */
function selectFamily({ family, configPath }: NodeLayout): Pick<NodeLayoutSettings, "family" | "configPath"> {
  return { family: family.name, ...(family.configPlaces.length > 1 ? { configPath } : {}) };
}

function describeDoubt(version: NodeVersion | undefined, next: NodeLayout, { binDirectory }: NodeLayout): string {
  const cause = version === undefined ? "the layout on disk changed" : `a node of ${version.text}`;
  return `${cause} would run in ${next.binDirectory}, which is not there; what is there is ${binDirectory}, so set node.version (GATEHOUSE_SIDECAR_NODE_VERSION) to that of the node's release, or finish the upgrade`;
}
