import {
  encodeDeployData,
  getContractAddress,
  keccak256,
  numberToHex,
  parseAbi,
  stringToHex,
  type Address,
  type Hex,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { canonicalContracts } from "#x402/contracts.ts";
import { walletFactoryAddress } from "./addresses.ts";
import artifact from "./contracts.artifact.json" with { type: "json" };

export type TokenGenesis = Readonly<{ chainId: number; holders: readonly Address[] }>;

/** Initial amount of each holder, in the token's smallest unit: a million tokens, with 6 decimals. */
const initialAmount = 1_000_000_000_000n;

/** The same number of plain tokens, with 18 decimals. */
const initialPlainAmount = 1_000_000_000_000_000_000_000_000n;

/** Measured: 1.6 million for a token and 25,000 per holder, so 6.6 million with 200 holders. */
const gas = 10_000_000n;
const maxFeePerGas = 100_000_000_000n;

/**
 * Account that deploys the tokens with its first two transactions, so that their addresses are always the same. Its key is derived from
 * public text, so the account must never own anything.
 */
export const deployer = privateKeyToAccount(keccak256(stringToHex("gatehouse devnet: deployer of the token")));

/** Computes the address of the contract that the deployer creates with a nonce (CREATE: keccak256 of the RLP of address and nonce). */
export function computeDeployedAddress(nonce: 0 | 1): Address {
  return getContractAddress({ from: deployer.address, nonce: BigInt(nonce) });
}

/** Balance that the deployer needs, in wei, as a quantity. */
export const deploymentBalance = numberToHex(2n * gas * maxFeePerGas);

/** Signs the transactions that deploy the token and the plain token, in this order. */
export async function signDeployments({ chainId, holders }: TokenGenesis): Promise<readonly Hex[]> {
  const abi = parseAbi(["constructor(address[] holders, uint256 amount)"]);
  const { Token, PlainToken } = artifact.creation;
  const creations = [
    encodeDeployData({ abi, bytecode: Token as Hex, args: [holders, initialAmount] }),
    encodeDeployData({ abi, bytecode: PlainToken as Hex, args: [holders, initialPlainAmount] }),
  ];
  const fees = { gas, maxFeePerGas, maxPriorityFeePerGas: 0n };
  return Promise.all(
    creations.map((data, nonce) => deployer.signTransaction({ type: "eip1559", chainId, nonce, ...fees, data })),
  );
}

/**
 * Code of the devnet's own contracts, by address. The canonical contracts have the interface and errors of the real ones, but not their
 * code, which has other copyright holders.
 */
export const codeByAddress = new Map<Address, Hex>([
  [canonicalContracts.permit2.address, artifact.code.Permit2 as Hex],
  [canonicalContracts.exactProxy.address, artifact.code.ExactProxy as Hex],
  [canonicalContracts.uptoProxy.address, artifact.code.UptoProxy as Hex],
  [canonicalContracts.multicall3.address, artifact.code.Multicall3 as Hex],
  [walletFactoryAddress, artifact.code.WalletFactory as Hex],
  [canonicalContracts.batchSettlement.address, artifact.code.BatchSettlement as Hex],
  [canonicalContracts.erc3009Collector.address, artifact.code.ERC3009Collector as Hex],
  [canonicalContracts.permit2Collector.address, artifact.code.Permit2Collector as Hex],
]);
