import type { ReleaseCommits } from "#node/versions.ts";
import type { DataRpc, NodeRpc } from "../../upgrade/node-rpc.ts";
import type { RestartContext } from "../restart/restart-context.ts";
import type { ObservedUpgrade } from "./upgrade-observation.ts";

export type UpgradeContext = RestartContext &
  Readonly<{
    upgrade: ObservedUpgrade;
    rpc: NodeRpc & DataRpc;
    commits: () => ReleaseCommits;
  }>;
