import type { CallOutcome, LimitName } from "./meter.ts";

/** Calls of one kind since the start. Names come from the catalogue and the settings, so that there is a bounded number of kinds. */
export type CallCount = Readonly<{
  /** A name of the catalogue, or `unknown`. */
  method: string;
  tier: string;
  outcome: CallOutcome;
  count: number;
}>;

/** Refusals by one limit of a tier's calls since the start. */
export type LimitedCount = Readonly<{ limit: LimitName; tier: string; count: number }>;

/** Calls and refusals since the gateway's start. */
export type Traffic = Readonly<{ calls: readonly CallCount[]; limited: readonly LimitedCount[] }>;
