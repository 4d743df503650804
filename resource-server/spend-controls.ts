import type { PaymentRequirements } from "@x402/core/types";

/** Line of code that each stock client needs before it pays a seller. */
export type SpendControls = Readonly<{ typescript: string; python: string }>;

/**
 * Formats the lines for clients with `@x402/core` and PyPI's `x402`, which by default pay only in tokens that they know. An asset of
 * several offers is allowed up to the highest price.
 *
 * @param offers empty: no client needs a line.
 */
export function formatSpendControls(offers: readonly PaymentRequirements[]): SpendControls | undefined {
  const byAsset = Map.groupBy(offers, ({ network, asset }) => `${network} ${asset}`);
  const assets = [...byAsset.values()].flatMap((some) => {
    const [dearest] = some.toSorted((one, other) => (BigInt(one.amount) < BigInt(other.amount) ? 1 : -1));
    return dearest === undefined ? [] : [dearest];
  });
  if (assets.length === 0) return undefined;
  const typescript = assets.map(({ network, asset, amount }) => ({ network, asset, maxAmountPerPayment: amount }));
  const python = assets.map(({ network, asset, amount }) => ({ network, asset, max_amount_per_payment: amount }));
  return {
    typescript: `client.setSpendControls(${JSON.stringify({ allowedAssets: typescript })});`,
    python: `client.set_spend_controls(${JSON.stringify({ allowed_assets: python })})`,
  };
}
