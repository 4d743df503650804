import { canonicalContracts } from "#x402/contracts.ts";
import { formatAmount } from "#x402/token-amount.ts";

/** Approval of Permit2 that a payer needs; `amount` in the token's smallest units. */
type Permit2Approval = Readonly<{ account: string; asset: string; amount: string; decimals: number | undefined }>;

const permit2 = canonicalContracts.permit2.address;

/** Describes how a payer approves Permit2 before a payment (x402 version 2, status 412). */
export function describeMissingApproval(approval: Permit2Approval): string {
  return (
    `${nameMissing(approval)}. With --rpc-url, this command signs the approval if the seller offers to submit it ` +
    `(eip2612GasSponsoring) and the token has EIP-2612. Otherwise ${describeSending(approval)}`
  );
}

/** Describes a missing approval for a token that accepts no signed approval. */
export function describeUnsignableApproval(approval: Permit2Approval): string {
  return (
    `${nameMissing(approval)}, and the token has no EIP-2612, so the approval can't be signed; nothing was signed. ` +
    `Instead, ${describeSending(approval)}`
  );
}

function nameMissing({ account, asset, amount, decimals }: Permit2Approval): string {
  return `account ${account} has not approved Permit2 for ${formatAmount(BigInt(amount), decimals)} of token ${asset}`;
}

function describeSending({ asset, amount }: Permit2Approval): string {
  const command = `cast send ${asset} "approve(address,uint256)" ${permit2} ${amount} --rpc-url <url> --interactive`;
  return `send it yourself with Foundry's cast, which asks for the account's key, before you pay again: ${command}`;
}
