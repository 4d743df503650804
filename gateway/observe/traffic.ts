import type { CallOutcome, LimitName } from "./meter.ts";

/** Number of calls of one kind since the start. Names come from the catalogue and the settings, so the number of kinds is bounded. */
export type CallCount = Readonly<{
  /** A name from the catalogue, or `unknown`. */
  method: string;
  tier: string;
  outcome: CallOutcome;
  count: number;
}>;

/** Number of a tier's calls rejected by one limit since the start. */
export type LimitedCount = Readonly<{ limit: LimitName; tier: string; count: number }>;

/** Calls and rejections since the gateway started. */
export type Traffic = Readonly<{ calls: readonly CallCount[]; limited: readonly LimitedCount[] }>;
