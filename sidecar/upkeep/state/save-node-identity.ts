import { realpath } from "node:fs/promises";
import type { ConfigDocument } from "#node/conf/document.ts";
import { deriveMeaning } from "#node/conf/meaning.ts";
import { readNodeValues } from "#node/conf/node-values.ts";
import type { FileDeadline } from "#daemon/files/file-deadline.ts";
import type { RpcState } from "#health/rpc-state.ts";
import { identifyNode, type IdentitySettings, type ConfigLocation } from "./node-identity.ts";
import type { UpkeepState } from "./upkeep-state.ts";

/**
 * Saves the node's identity, based on node.conf and the node's own responses, so that a sidecar whose node moves while it is watching keeps
 * its state. At first contact, assumes that the node runs with the current node.conf.
 *
 * @throws {HangingFileSystem} when the file system that holds node.conf hangs.
 */
export async function saveNodeIdentity(
  document: ConfigDocument,
  layout: ConfigLocation,
  {
    settings,
    state,
    fileDeadline,
    health,
  }: Readonly<{
    settings: IdentitySettings;
    state: Pick<UpkeepState, "identity" | "nodeHas" | "nodeValues">;
    /** Limits calls to the file system that holds node.conf. */
    fileDeadline: FileDeadline;
    health: Readonly<{ current: () => RpcState }>;
  }>,
): Promise<void> {
  const { configPath, pathsDirectory } = layout;
  const realPath = await fileDeadline.call(`resolving ${configPath}`, () =>
    // A file that was removed in the meantime has only its former path.
    realpath(configPath).catch(() => configPath),
  );
  if (state.nodeHas.get() === undefined) state.nodeHas.set(deriveMeaning(document));
  if (state.nodeValues.get() === undefined) state.nodeValues.set(readNodeValues(document, pathsDirectory));
  const remembered = state.identity.get();
  const answeredChainId = health.current().chainId ?? remembered?.answeredChainId;
  const now = { ...identifyNode(settings, layout, document, realPath), answeredChainId };
  if (JSON.stringify(now) !== JSON.stringify(remembered)) state.identity.set(now);
}
