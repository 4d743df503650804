import type { z } from "zod";
import { findAnvil } from "./anvil/anvil-process.ts";
import { readProcessIdentity } from "#daemon/process/running-process.ts";
import type { devnetSettings } from "./settings.ts";
import { strictOpensAfterSeconds } from "./node-profile.ts";
import type { NodeParameters } from "./workspace/node-parameters.ts";
import { prepareWorkspace } from "./workspace/prepare-workspace.ts";
import type { Workspace } from "./workspace/workspace.ts";

/** The address that a new node.conf advertises to peers (host_ip); the devnet has no peers. */
const loopback = "127.0.0.1";

export type DevnetSettings = z.output<typeof devnetSettings.schema>;

/** A node ready to start: by its own `ops`, or in the foreground. */
export type PreparedNode = Readonly<{ workspace: Workspace; parameters: NodeParameters }>;

/** Checks that the devnet's chain can run. @throws {StartupError} with the command that installs anvil. */
export function requireAnvil(): void {
  findAnvil();
}

/**
 * Creates the workspace that the settings describe, or updates an existing one. A node that `ops` starts there exits with the process
 * `ownerPid`, unless that process exited before the node started.
 */
export async function prepareNode(
  settings: DevnetSettings,
  { ownerPid }: Readonly<{ ownerPid?: number }> = {},
): Promise<PreparedNode> {
  const { node, monitor } = settings;
  const { jobName } = monitor;
  const owner = ownerPid === undefined ? undefined : await readProcessIdentity(ownerPid);
  const parameters = { ...buildParameters(settings), ...(owner === undefined ? {} : { owner }) };
  const workspace = await prepareWorkspace({
    directory: settings.workspace.directory,
    parameters,
    conf: {
      hostIp: loopback,
      ports: { http: node.httpPort, webSocket: node.webSocketPort, rpc: node.rpcPort, tcp: node.tcpPort },
      monitor: jobName === undefined ? undefined : { ...monitor, jobName },
    },
  });
  return { workspace, parameters };
}

function buildParameters({ profile, node, chain }: DevnetSettings): NodeParameters {
  const mnemonic = chain.mnemonic?.reveal();
  return {
    version: node.version,
    profile,
    opensAfterSeconds: node.opensAfterSeconds ?? (profile === "strict" ? strictOpensAfterSeconds : 0),
    nodeDirectory: "node",
    listenHost: node.listenHost,
    chainId: chain.id,
    blockTimeSeconds: chain.blockTimeSeconds,
    ...(mnemonic === undefined ? {} : { mnemonic }),
    accounts: chain.accounts,
    fund: chain.fund as NodeParameters["fund"],
  };
}
