import {
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  http,
  parseAbi,
  zeroHash,
  type Address,
  type Hex,
} from "viem";
import { walletFactoryAddress } from "#devnet/contracts/addresses.ts";
import type { PaymentChain, TestAccount } from "./payment-chain.ts";

export const walletAbi = parseAbi([
  "function createWallet(address owner, bytes32 salt) returns (address wallet)",
  "function addressOf(address owner, bytes32 salt) view returns (address)",
  "function execute(address target, uint256 value, bytes data) returns (bytes)",
]);

/**
 * A contract account, deployed or not: its owner signs for it (ERC-1271); `factory` creates it with `factoryData`
 * (ERC-6492).
 */
export type Wallet = Readonly<{ address: Address; factory: Address; factoryData: Hex }>;

/** Computes the contract account of an owner and a salt, without creating it. */
export async function describeWallet(chain: PaymentChain, owner: Address, salt: Hex = zeroHash): Promise<Wallet> {
  const args = [owner, salt] as const;
  const factory = { address: walletFactoryAddress, abi: walletAbi } as const;
  return {
    address: await createPublicClient({ transport: http(chain.url) }).readContract({
      ...factory,
      functionName: "addressOf",
      args,
    }),
    factory: walletFactoryAddress,
    factoryData: encodeFunctionData({ ...factory, functionName: "createWallet", args }),
  };
}

/** Creates the contract account of an owner, who pays for it. */
export async function createWallet(chain: PaymentChain, owner: TestAccount, salt?: Hex): Promise<Wallet> {
  const wallet = await describeWallet(chain, owner.address, salt);
  await sendCall(chain, owner, { to: wallet.factory, data: wallet.factoryData });
  return wallet;
}

/** Makes a contract account call another contract. */
export async function executeByWallet(
  chain: PaymentChain,
  owner: TestAccount,
  wallet: Wallet,
  call: Readonly<{ to: Address; data: Hex }>,
): Promise<void> {
  const args = [call.to, 0n, call.data] as const;
  const data = encodeFunctionData({ abi: walletAbi, functionName: "execute", args });
  await sendCall(chain, owner, { to: wallet.address, data });
}

/** Sends a call and mines it. Throws if it reverts. */
export async function sendCall(
  chain: PaymentChain,
  { account }: TestAccount,
  call: Readonly<{ to: Address; data: Hex }>,
): Promise<Hex> {
  const transport = http(chain.url);
  const hash = await createWalletClient({ account, transport }).sendTransaction({ ...call, chain: null });
  await chain.anvil.mine();
  const { status } = await createPublicClient({ transport }).getTransactionReceipt({ hash });
  if (status !== "success") throw new Error(`the call of ${call.to} reverted in ${hash}`);
  return hash;
}
