import type { OutputFiles } from "#daemon/process/output-files.ts";
import type { ServiceContext } from "#daemon/service.ts";
import type { CommandText } from "../command-text.ts";
import type { ConfigContext } from "../config/config-context.ts";
import type { NodeDriver } from "../drivers/driver.ts";
import type { MaintenanceWindow } from "./maintenance-window.ts";
import type { RestartBudget } from "./restart-budget.ts";
import type { ObservedProcess, ObservedRestarts } from "./restart-observation.ts";
import type { VerificationDependencies } from "./restart-verification.ts";

/** What the steps that decide, make and verify a restart share. */
export type RestartContext = ConfigContext &
  Readonly<{
    process: ObservedProcess;
    restarts: ObservedRestarts;
    driver: NodeDriver | undefined;
    /** Listening address of the node, and the max time until it responds after a start. */
    node: Readonly<{ httpUrl: string; answersWithinMs: number }>;
    /** Runs node_cli. */
    observer: Readonly<{ check: (signal: AbortSignal) => Promise<void> }>;
    /** Files for the output of `restart.checkCommand`. */
    output: OutputFiles;
    budget: RestartBudget;
    window: MaintenanceWindow;
    metrics: Readonly<{ restarted: (cause: string) => void; restartsInLastHour: (count: number) => void }>;
    lastPush: VerificationDependencies["lastPush"];
    command: CommandText;
    finishes: ServiceContext["finishes"];
    /** Requests another reconcile. */
    wake: () => void;
    signal: AbortSignal;
  }>;
