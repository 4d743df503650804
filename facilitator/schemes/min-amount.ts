import type { Hex } from "#x402/hex.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import type { FacilitatorSettings } from "../settings.ts";

/** Min amount of a payment in a token, in the token's smallest unit. */
export type MinAmount = (asset: Hex) => bigint;

/** Signer's current max cost of one settlement, in the native currency's smallest unit. */
type SettlementCost = Readonly<{ settlementCost: () => bigint }>;

/**
 * Creates the minimum amounts of tokens: as configured, else the cost of a settlement where a price is known, else one unit. A transfer of
 * value 0 pays for nothing.
 */
export function createMinAmounts(
  { assets, nativeDecimals }: Readonly<{ assets: FacilitatorSettings["assets"]; nativeDecimals: number }>,
  { settlementCost }: SettlementCost,
): MinAmount {
  const byAddress = new Map(assets.map((asset) => [asset.address.toLowerCase(), asset]));
  return (address) => {
    const { minAmount, nativePrice } = byAddress.get(address.toLowerCase()) ?? {};
    if (minAmount !== undefined) return BigInt(minAmount);
    if (nativePrice === undefined) return 1n;
    return (settlementCost() * BigInt(nativePrice)) / 10n ** BigInt(nativeDecimals) + 1n;
  };
}

/** Rejects an amount below the minimum; returns undefined otherwise. */
export function rejectAmount(amount: bigint, least: bigint): Refusal | undefined {
  if (amount >= least) return undefined;
  const message = `the amount is ${amount}, the minimum here is ${least} (the facilitator's assets[].minAmount); charge more.`;
  return { reason: reason.requirements, message };
}
