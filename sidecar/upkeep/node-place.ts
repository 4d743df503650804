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
    /** Follows a node whose upgrade changed its layout; tells whether it moved. */
    follow: (version: NodeVersion | undefined) => Promise<boolean>;
  }>;

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
      const moved = next.configPath !== layout.configPath;
      layout = next;
      if (!moved) return false;
      lock[Symbol.dispose]();
      lock = writerLock(next.configPath);
      await watch.renew(next.configPath);
      return true;
    },
    [Symbol.asyncDispose]: async () => {
      await watch[Symbol.asyncDispose]();
      lock[Symbol.dispose]();
    },
  };
}
