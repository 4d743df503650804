import type { CallOutcome, LimitName } from "./meter.ts";

/** Calls of one kind since the start. Names come from the catalogue and the settings, so that there is a bounded number of kinds. */
export type CallCount = Readonly<{
  /** A name of the catalogue, or `unknown`. */
  method: string;
  tier: string;
  outcome: CallOutcome;
  count: number;
}>;

/** What a limit has refused of a tier since the start. */
export type LimitedCount = Readonly<{ limit: LimitName; tier: string; count: number }>;

/** What the gateway has done since its start, for whoever shows it. */
export type Traffic = Readonly<{ calls: readonly CallCount[]; limited: readonly LimitedCount[] }>;
