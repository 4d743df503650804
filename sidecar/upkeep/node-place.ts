import { existsSync } from "node:fs";
import type { Logger } from "#daemon/log.ts";
import { writerLock, type WriterLock } from "./apply/writer-lock.ts";
import { watchConfig, type ConfigWatch } from "./observe/config-watch.ts";
import { resolveNodeLayout, type NodeLayout, type NodeLayoutSettings } from "./observe/node-layout.ts";
import type { NodeVersion } from "./observe/node-version.ts";

/** Where the node is, with the watch on its configuration and the right to write it. */
export type NodePlace = AsyncDisposable &
  Readonly<{
    layout: () => NodeLayout;
    lock: () => WriterLock;
    watch: ConfigWatch;
    /** Follows a node whose upgrade changed its layout, once that layout is there. */
    follow: (version: NodeVersion | undefined) => Promise<PlaceFollowed>;
  }>;

/** Whether the node's place is another now; `doubt`: the version's own layout is not there, so that the place, or the version, is in doubt. */
export type PlaceFollowed = Readonly<{ moved: boolean; doubt?: string }>;

/**
 * Finds the node and watches its configuration.
 *
 * @throws {StartupError} when the settings name no node.
 */
export function findNode(
  settings: NodeLayoutSettings,
  { log, onEvent }: Readonly<{ log: Logger; onEvent: () => void }>,
): NodePlace {
  let layout = resolveNodeLayout(settings);
  let lock = writerLock(layout.configPath);
  const watch = watchConfig({ path: layout.configPath, onEvent }, { log });
  return {
    layout: () => layout,
    lock: () => lock,
    watch,
    follow: async (version) => {
      const next = resolveNodeLayout(settings, version);
      if (!existsSync(next.binDirectory) && existsSync(layout.binDirectory)) {
        return next.kind === layout.kind ? { moved: false } : { moved: false, doubt: doubtOf(version, next, layout) };
      }
      const moved = next.configPath !== layout.configPath;
      layout = next;
      if (!moved) return { moved };
      lock[Symbol.dispose]();
      lock = writerLock(next.configPath);
      await watch.renew(next.configPath);
      return { moved };
    },
    [Symbol.asyncDispose]: async () => {
      await watch[Symbol.asyncDispose]();
      lock[Symbol.dispose]();
    },
  };
}

function doubtOf(version: NodeVersion | undefined, next: NodeLayout, { binDirectory }: NodeLayout): string {
  const told = version === undefined ? "the layout on disk changed" : `a node of ${version.text}`;
  return `${told} would run in ${next.binDirectory}, which is not there; what is there is ${binDirectory}, so set node.version (GATEHOUSE_SIDECAR_NODE_VERSION) to that of the node's release, or finish the upgrade`;
}
