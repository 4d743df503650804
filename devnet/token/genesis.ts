import type { Address, Hex } from "viem";
import type { Anvil } from "../anvil/anvil.ts";
import { tokenAddress } from "./address.ts";
import type { TokenGenesis } from "./deployment.ts";

/** Chain methods needed to deploy the token. */
export type TokenChain = Pick<Anvil, "request" | "checkpoint"> & Readonly<{ mine(): Promise<unknown> }>;

/**
 * Makes sure that the token exists at {@link tokenAddress}: deploys it with the deployer's first transaction on a new chain, does nothing
 * if it exists. `genesis` is a function, because deriving accounts is slow and needed only on a new chain.
 *
 * @throws {Error} when the deployer has spent its first transaction otherwise.
 */
export async function deployToken(chain: TokenChain, genesis: () => Promise<TokenGenesis>): Promise<Address> {
  if (await hasToken(chain)) return tokenAddress;
  // Loaded only when needed: loading takes longer than the rest of the node's start.
  const { deploymentBalance, deployer, signDeployment } = await import("./deployment.ts");
  const transaction = await signDeployment(await genesis());
  await chain.request("anvil_setBalance", [deployer.address, deploymentBalance]);
  // After a crash, the deployment is replayed from the chain's journal, but the balance that pays for it is not in the journal.
  await chain.checkpoint();
  await chain.request("eth_sendRawTransaction", [transaction]);
  await chain.mine();
  if (await hasToken(chain)) return tokenAddress;
  throw new Error(
    `no contract at ${tokenAddress} after the token's deployment; remove the chain's data and start over`,
  );
}

async function hasToken(chain: TokenChain): Promise<boolean> {
  return (await chain.request<Hex>("eth_getCode", [tokenAddress, "latest"])) !== "0x";
}
