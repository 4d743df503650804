import { createCatalogue, type Catalogue } from "../catalogue/catalogue.ts";
import type { PolicySettings, Tier } from "../settings/policy.ts";

/** What every decision of the gateway rests on. Replaced as a whole when settings change; a call keeps the one it began with. */
export type Policy = Readonly<{ settings: PolicySettings; catalogue: Catalogue; tiers: ReadonlyMap<string, Tier> }>;

/** The policy in force; read it once for each call. */
export type PolicySource = () => Policy;

/** Creates the policy that settings describe. */
export function createPolicy(settings: PolicySettings): Policy {
  return {
    settings,
    catalogue: createCatalogue(settings.methods),
    tiers: new Map(Object.entries(settings.tiers)),
  };
}

/** Blocks that one eth_getLogs of a tier may cover (specification, Limits). */
export function logsCap({ settings }: Policy, tier: Tier): number {
  if (!settings.rateLimit.enabled) return settings.ranges.logsFallbackBlocks;
  return tier.logsBlocks ?? settings.ranges.logsBlocks;
}

/** Blocks that one trace_filter of a tier may cover (specification, Limits). */
export function traceCap({ settings }: Policy, tier: Tier): number {
  return tier.traceBlocks ?? settings.ranges.traceBlocks;
}
