import type { CallOutcome, LimitName } from "./meter.ts";

/** Calls of one kind since the start. Names come from the catalogue and the settings, so that the number of kinds is bounded. */
export type CallCount = Readonly<{
  /** A name of the catalogue, or `unknown`. */
  method: string;
  tier: string;
  outcome: CallOutcome;
  count: number;
}>;

/** Rejections of a tier's calls by one limit since the start. */
export type LimitedCount = Readonly<{ limit: LimitName; tier: string; count: number }>;

/** Calls and rejections since the gateway's start. */
export type Traffic = Readonly<{ calls: readonly CallCount[]; limited: readonly LimitedCount[] }>;
