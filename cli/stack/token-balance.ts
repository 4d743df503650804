import { createPublicClient, erc20Abi, formatUnits, http, type Address } from "viem";

/** Where a balance is read. */
export type BalanceQuery = Readonly<{ rpcUrl: string; token: Address; account: Address; timeoutMs: number }>;

/** The token balance of an account, in the token's smallest units, read from the chain. */
export async function tokenBalance({ rpcUrl, token, account, timeoutMs }: BalanceQuery): Promise<bigint> {
  const client = createPublicClient({ transport: http(rpcUrl, { timeout: timeoutMs, retryCount: 0 }) });
  return client.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [account] });
}

/** An amount of a token with 6 decimals as a person reads it, e.g. `1000000.01 USDC`. */
export function formatUsdc(amount: bigint): string {
  return `${formatUnits(amount, 6)} USDC`;
}
