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

/** The chain that the token is deployed on, and the token's first holders. */
export type TokenGenesis = Readonly<{ chainId: number; holders: readonly Address[] }>;

/** Amount that each holder has on a new chain, in the token's smallest unit: a million tokens, with 6 decimals. */
const initialAmount = 1_000_000_000_000n;

/** Measured: 1.6 million for the contract and 25,000 a holder, so 6.6 million with 200 of them. */
const gas = 10_000_000n;
const maxFeePerGas = 100_000_000_000n;

/**
 * Account that deploys the token, by its first and only transaction, so that the token's address is always the same. Its
 * key is derived from a text that everyone can read: it must never hold anything.
 */
export const deployer = privateKeyToAccount(keccak256(stringToHex("gatehouse devnet: deployer of the token")));

/** Address of the deployer's first contract (CREATE: keccak256 of the RLP of address and nonce 0). */
export const deployedAddress = getContractAddress({ from: deployer.address, nonce: 0n });

/** Wei that the deployer needs, as a quantity. */
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
