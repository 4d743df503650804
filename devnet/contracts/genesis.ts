import type { Address, Hex } from "viem";
import type { Anvil } from "../anvil/anvil.ts";
import { tokenAddress } from "../token/address.ts";
import { canonicalContracts } from "#x402/contracts.ts";
import { plainTokenAddress } from "./addresses.ts";
import type { TokenGenesis } from "./deployment.ts";

export type GenesisChain = Pick<Anvil, "request" | "checkpoint"> & Readonly<{ mine(): Promise<unknown> }>;

/** The last contracts that a genesis deploys; a chain that has these has all others. */
const addresses = [tokenAddress, plainTokenAddress, canonicalContracts.permit2Collector.address] as const;

/**
 * Makes sure that the token exists at {@link tokenAddress}, and the other contracts at their addresses; does nothing if they exist. The
 * deployer's first transactions create the tokens; the code of the other contracts is set directly. `genesis` is a function, because
 * deriving accounts is slow and needed only on a new chain.
 *
 * @throws {Error} if the deployer has already used its first transactions for something else.
 */
export async function deployContracts(chain: GenesisChain, genesis: () => Promise<TokenGenesis>): Promise<Address> {
  const [hasToken, hasPlainToken, hasOthers] = await findContracts(chain);
  if (hasToken && hasPlainToken && hasOthers) return tokenAddress;
  // Loaded only when needed: loading takes longer than the rest of the node's start.
  const { deploymentBalance, deployer, codeByAddress, signDeployments } = await import("./deployment.ts");
  const [token, plainToken] = await signDeployments(await genesis());
  await chain.request("anvil_setBalance", [deployer.address, deploymentBalance]);
  await Promise.all([...codeByAddress].map((contract) => chain.request("anvil_setCode", contract)));
  // After a crash, the deployments are replayed from the chain's journal, which contains neither the balance that pays for them nor the
  // code.
  await chain.checkpoint();
  if (!hasToken) await chain.request("eth_sendRawTransaction", [token]);
  if (!hasPlainToken) await chain.request("eth_sendRawTransaction", [plainToken]);
  await chain.mine();
  const found = await findContracts(chain);
  const missing = addresses.filter((_, index) => !found[index]);
  if (missing.length === 0) return tokenAddress;
  throw new Error(`no contract at ${missing.join(", ")} after the deployment; remove the chain's data and start over`);
}

async function findContracts(chain: GenesisChain): Promise<readonly boolean[]> {
  const codes = addresses.map((address) => chain.request<Hex>("eth_getCode", [address, "latest"]));
  return (await Promise.all(codes)).map((code) => code !== "0x");
}
