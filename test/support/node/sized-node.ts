import { startFakeNode } from "#sidecar/testing/fake-node.ts";
import { isLong } from "../run-size.ts";
import { startDevnetWorkspace } from "./devnet-workspace.ts";

/** A running node with its workspace; only the devnet's has a WebSocket. */
export type SizedNode = AsyncDisposable &
  Readonly<{ workspace: string; httpUrl: string; webSocketUrl?: string | undefined }>;

/** Starts a devnet node in a long run, otherwise a fake one, which is much cheaper. */
export function startSizedNode(): Promise<SizedNode> {
  return isLong ? startDevnetWorkspace("0.16.2") : startFakeNode();
}
