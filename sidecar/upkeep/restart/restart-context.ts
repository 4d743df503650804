import type { OutputFiles } from "#daemon/process/output-files.ts";
import type { ServiceContext } from "#daemon/service.ts";
import type { CommandText } from "../command-text.ts";
import type { ConfigContext } from "../config/config-context.ts";
import type { NodeDriver } from "../drivers/driver.ts";
import type { MaintenanceWindow } from "./restart-decision.ts";
import type { RestartBudget } from "./restart-budget.ts";
import type { ObservedProcess, ObservedRestarts } from "./restart-observation.ts";
import type { VerificationDependencies } from "./restart-verification.ts";

export type RestartContext = ConfigContext &
  Readonly<{
    process: ObservedProcess;
    restarts: ObservedRestarts;
    driver: NodeDriver | undefined;
    node: Readonly<{ httpUrl: string; answersWithinMs: number }>;
    observer: Readonly<{ check: (signal: AbortSignal) => Promise<void> }>;
    output: OutputFiles;
    budget: RestartBudget;
    window: MaintenanceWindow;
    metrics: Readonly<{ restarted: (cause: string) => void; restartsInLastHour: (count: number) => void }>;
    lastPush: VerificationDependencies["lastPush"];
    command: CommandText;
    finishes: ServiceContext["finishes"];
    wake: () => void;
    signal: AbortSignal;
  }>;
