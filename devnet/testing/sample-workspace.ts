import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { NodeProfile } from "../node-profile.ts";
import { prepareWorkspace, type PrepareWorkspaceOptions } from "../workspace/prepare-workspace.ts";

export const sampleConf = {
  hostIp: "127.0.0.1",
  ports: { http: 18_100, webSocket: 18_200, rpc: 20_000, tcp: 19_000 },
} as const;

const chain = { listenHost: "127.0.0.1", chainId: 1672, blockTimeSeconds: 1, accounts: 0, fund: [] };

/** Prepares a workspace of this version, by default in a directory that is removed when the test has finished. */
export async function prepareSampleWorkspace(
  version: string,
  {
    directory,
    profile = "standard",
    conf = sampleConf,
  }: Readonly<{ directory?: string; profile?: NodeProfile; conf?: PrepareWorkspaceOptions["conf"] }> = {},
) {
  const at = directory ?? (await mkdtemp(join(tmpdir(), "gatehouse-workspace-")));
  if (directory === undefined) onTestFinished(() => rm(at, { recursive: true, force: true }));
  const parameters = { version, profile, opensAfterSeconds: 0, nodeDirectory: "node", ...chain };
  return prepareWorkspace({ directory: at, parameters, conf });
}
