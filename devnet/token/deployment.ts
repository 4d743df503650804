import {
  encodeDeployData,
  getContractAddress,
  keccak256,
  numberToHex,
  stringToHex,
  type Abi,
  type Address,
  type Hex,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import artifact from "./token.artifact.json" with { type: "json" };

/** The chain to deploy the token on, and the token's first holders. */
export type TokenGenesis = Readonly<{ chainId: number; holders: readonly Address[] }>;

/** Amount of each holder on a new chain, in the token's smallest unit: a million tokens, with 6 decimals. */
const initialAmount = 1_000_000_000_000n;

/** Measured: 1.6 million for the contract and 25,000 per holder, so 6.6 million with 200 holders. */
const gas = 10_000_000n;
const maxFeePerGas = 100_000_000_000n;

/**
 * Account that deploys the token with its first and only transaction, so that the token's address is always the same. Its key is derived
 * from a public text: it must never own anything.
 */
export const deployer = privateKeyToAccount(keccak256(stringToHex("gatehouse devnet: deployer of the token")));

/** Address of the deployer's first contract (CREATE: keccak256 of the RLP of address and nonce 0). */
export const deployedAddress = getContractAddress({ from: deployer.address, nonce: 0n });

/** Balance that the deployer needs, in wei, as a quantity. */
export const deploymentBalance = numberToHex(gas * maxFeePerGas);

/** Signs the transaction that deploys the token. */
export async function signDeployment({ chainId, holders }: TokenGenesis): Promise<Hex> {
  return deployer.signTransaction({
    type: "eip1559",
    chainId,
    nonce: 0,
    gas,
    maxFeePerGas,
    maxPriorityFeePerGas: 0n,
    data: encodeDeployData({
      abi: artifact.abi as Abi,
      bytecode: artifact.bytecode as Hex,
      args: [holders, initialAmount],
    }),
  });
}
