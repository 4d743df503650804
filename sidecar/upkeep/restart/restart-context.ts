import type { ServiceContext } from "#daemon/service.ts";
import type { Permissions } from "../adoption/authority.ts";
import type { CommandText } from "../command-text.ts";
import type { ConfigContext } from "../config/config-context.ts";
import type { NodeDriver } from "../drivers/driver.ts";
import type { NodeProcesses } from "../drivers/host-processes.ts";
import type { NodeCli } from "../drivers/node-cli.ts";
import type { PushCheck } from "../pushgateway/push-watch.ts";
import type { NodeObserver } from "../version/node-observer.ts";
import type { MaintenanceWindow } from "./restart-decision.ts";
import type { RestartBudget } from "./restart-budget.ts";
import type { ObservedProcess, ObservedRestarts } from "./restart-observation.ts";

export type RestartContext = ConfigContext &
  Readonly<{
    process: ObservedProcess;
    restarts: ObservedRestarts;
    driver: NodeDriver | undefined;
    /** The processes that listen on the node's port. */
    holders: NodeProcesses;
    nodeCli: NodeCli | undefined;
    observer: NodeObserver;
    budget: RestartBudget;
    window: MaintenanceWindow;
    /** Queries the node's last push; undefined when metrics aren't checked. */
    lastPush: ((signal: AbortSignal) => Promise<PushCheck>) | undefined;
    command: CommandText;
    authority: () => Permissions;
    finishes: ServiceContext["finishes"];
    /** Whether node_cli is enabling pruning: it communicates with the running node, and a restart would interrupt it. */
    isPruning: () => boolean;
    wake: () => void;
    signal: AbortSignal;
  }>;
