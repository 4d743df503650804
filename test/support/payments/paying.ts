import { createPublicClient, erc20Abi, http, type Address } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { payingFetch, type Fetch } from "#client/paying-fetch.ts";
import { tokenAddress } from "#devnet/token/address.ts";

const mnemonic = "test test test test test test test test test test test junk";

export const client = mnemonicToAccount(mnemonic, { addressIndex: 1 });

export const payee = mnemonicToAccount(mnemonic, { addressIndex: 2 });

export function createClientFetch(): Fetch {
  return payingFetch({
    account: client,
    assets: [{ network: "eip155:1672", address: tokenAddress, decimals: 6 }],
    maxPerPayment: "$0.05",
    maxTotal: "$5",
    requestTimeoutMs: 30_000,
  });
}

export async function readBalance(nodeUrl: string, account: Address): Promise<bigint> {
  const chain = createPublicClient({ transport: http(nodeUrl) });
  return chain.readContract({ address: tokenAddress, abi: erc20Abi, functionName: "balanceOf", args: [account] });
}
