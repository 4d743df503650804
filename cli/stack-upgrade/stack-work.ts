import type { Clock } from "#daemon/clock.ts";
import type { Pause } from "#daemon/time.ts";
import type { StackQueries } from "./node-status.ts";
import type { PulumiCli } from "./pulumi/pulumi-cli.ts";
import type { StackPlatform } from "./stack-platform.ts";
import type { StackLimits, StackRecord } from "./stack-record.ts";

/** Everything that an upgrade of one stack works with. */
export type StackWork = Readonly<{
  pulumi: PulumiCli;
  platform: StackPlatform;
  queries: StackQueries;
  /** Prints a line for the operator. */
  say: (line: string) => void;
  /** Sends SIGINT to a process. */
  interrupt: (pid: number) => void;
  clock: Clock;
  pause: Pause;
  /** Stops the run between two stages. */
  signal: AbortSignal;
  /** Check interval of a node's verification, and the time for which the node has to stay healthy. */
  proof: Readonly<{ everyMs: number; steadyMs: number }>;
  /** Min time limits of the rollback, independent of those requested for the upgrade. */
  backLimits?: StackLimits;
}>;

/** Adds to the record; resolves once it is on disk. */
export type AmendRecord = (facts: Partial<StackRecord>) => Promise<void>;
