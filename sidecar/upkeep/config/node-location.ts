import { stat } from "node:fs/promises";
import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import { createWriterLock } from "./writer-lock.ts";
import { createFileDeadline, skipHanging } from "#daemon/files/file-deadline.ts";
import { watchConfig } from "./config-watch.ts";
import { resolveNodeLayout, type NodeLayout, type NodeLayoutSettings } from "#node/layout.ts";
import type { NodeVersion } from "#node/versions.ts";
import { readConfigWithDeadline } from "./config-file.ts";

export type NodeLocation = ReturnType<typeof findNode>;

/** Outcome of a location's update. `doubt`: the version's own layout doesn't exist, so either the location or the version is uncertain. */
type FollowOutcome = Readonly<{ moved: boolean; doubt?: string }>;

/** @throws {StartupError} when the settings specify no node. */
export function findNode(
  settings: NodeLayoutSettings,
  { configLimitBytes, fileTimeoutMs }: Readonly<{ configLimitBytes: number; fileTimeoutMs: number }>,
  { log, clock, signal, onEvent }: Readonly<{ log: Logger; clock: Clock; signal: AbortSignal; onEvent: () => void }>,
) {
  let layout = resolveNodeLayout(settings);
  let lock = createWriterLock(layout.configPath);
  const createDeadline = () => createFileDeadline({ withinMs: fileTimeoutMs, signal }, { clock, onBack: onEvent });
  const fileDeadline = createDeadline();
  const watch = watchConfig({ path: layout.configPath, onEvent }, { log });
  /** Returns undefined while the file system hangs. */
  const entryExists = (path: string) => {
    const check = () =>
      stat(path).then(
        () => true,
        () => false,
      );
    return fileDeadline.call(`checking ${path}`, check).catch(skipHanging);
  };
  return {
    layout: () => layout,
    lock: () => lock,
    watch,
    fileDeadline,
    /** Deadlines for the node's data and keys. Each may be on its own file system, and a hung one must not stall the others. */
    keyDeadline: createDeadline(),
    programDeadlines: { driver: createDeadline(), nodeCli: createDeadline(), problem: createDeadline() },
    read: () => readConfigWithDeadline(layout.configPath, configLimitBytes, fileDeadline),
    /** Updates the location of a node whose upgrade changed its layout, once the new layout exists. */
    follow: async (version: NodeVersion | undefined): Promise<FollowOutcome> => {
      const binExists = await entryExists(layout.binDirectory);
      const hasConfig = await entryExists(layout.configPath);
      if (binExists === undefined || hasConfig === undefined) return { moved: false };
      // The next call queries the file system, without a time limit, for unknown values: the family if there is no configuration, the
      // layout if there is no version.
      const locationSettings = hasConfig ? { ...settings, ...selectFamily(layout) } : settings;
      // If nothing identifies the family any more, the previous one is kept.
      const next = resolveNodeLayout(locationSettings, version, layout.family);
      const nextBinExists =
        next.binDirectory === layout.binDirectory ? binExists : await entryExists(next.binDirectory);
      if (nextBinExists !== true && binExists) {
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
      // Process exit closes both. Closing them on a hung file system would block the exit.
      if (fileDeadline.hangs()) return;
      await watch[Symbol.asyncDispose]();
      lock[Symbol.dispose]();
    },
  };
}

/** Keeps the family of a node that has a configuration, and its path if the family has several. */
function selectFamily({ family, configPath }: NodeLayout): Pick<NodeLayoutSettings, "family" | "configPath"> {
  return { family: family.name, ...(family.configPaths.length > 1 ? { configPath } : {}) };
}

function describeDoubt(version: NodeVersion | undefined, next: NodeLayout, { binDirectory }: NodeLayout): string {
  const cause = version === undefined ? "the layout on disk changed" : `node ${version.text}`;
  return `${cause} would have its binaries in ${next.binDirectory}, which does not exist, whereas ${binDirectory} does; set node.version (GATEHOUSE_SIDECAR_NODE_VERSION) to the node's release, or finish the upgrade`;
}
