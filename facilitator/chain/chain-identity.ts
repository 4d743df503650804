import { StartupError } from "#daemon/startup-error.ts";
import type { AcceptedAsset } from "#x402/signed-payment.ts";
import type { Chain } from "./chain.ts";
import { domainSeparatorCall } from "./token.ts";

/** What the settings say about the chain. */
export type ExpectedChain = Readonly<{ chainId: number; rpcUrl: string; assets: readonly AcceptedAsset[] }>;

/**
 * Checks that the node is on the chain that the settings name, and that its tokens are the ones that they describe.
 *
 * @throws {StartupError} when that is not so: no payment could be settled, and waiting would not mend it.
 * @throws {ChainError} when the node can't say.
 */
export async function checkChainIdentity({ chainId, rpcUrl, assets }: ExpectedChain, chain: Chain): Promise<void> {
  const found = await chain.id();
  if (found !== chainId) {
    const where = new URL(rpcUrl).origin;
    throw new StartupError(
      `the node at ${where} is on chain ${found}, chain.id is ${chainId}; correct chain.rpcUrl or chain.id.`,
    );
  }
  await Promise.all(assets.map((asset) => checkAsset(asset, chainId, chain)));
}

async function checkAsset(asset: AcceptedAsset, chainId: number, chain: Chain): Promise<void> {
  const { address, name, version, separator } = asset;
  const answer = await chain.simulate({ to: address, data: domainSeparatorCall });
  // A token without DOMAIN_SEPARATOR() reverts; then only a payment can show whether name and version are right.
  if (!answer.ok || answer.result === separator) return;
  throw new StartupError(
    answer.result === "0x"
      ? `there is no token at ${address} on chain ${chainId}; correct assets.`
      : `the token at ${address} on chain ${chainId} has another EIP-712 domain than name "${name}", version "${version}"; correct assets.`,
  );
}
