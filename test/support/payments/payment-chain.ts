import { mnemonicToAccount } from "viem/accounts";
import {
  bytesToHex,
  createWalletClient,
  erc20Abi,
  http,
  parseEther,
  publicActions,
  toHex,
  type Address,
  type Hex,
} from "viem";
import { createLog } from "#daemon/log/log.ts";
import { startAnvil, type Anvil } from "#devnet/anvil/anvil.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import { deployContracts } from "#devnet/contracts/genesis.ts";

const testMnemonic = "test test test test test test test test test test test junk";

export type TestAccount = Readonly<{
  address: Address;
  privateKey: Hex;
  account: ReturnType<typeof mnemonicToAccount>;
}>;

/** Cached accounts: deriving a mnemonic's seed takes milliseconds. */
const made = new Map<number, TestAccount>();

/** Returns the account at an index of the test mnemonic: 0 settles, 1 pays, 2 is paid. */
export function testAccount(index: number): TestAccount {
  const known = made.get(index) ?? makeAccount(index);
  made.set(index, known);
  return known;
}

function makeAccount(index: number): TestAccount {
  const account = mnemonicToAccount(testMnemonic, { addressIndex: index });
  const { privateKey } = account.getHdKey();
  if (privateKey === null) throw new Error("the mnemonic's account has no key");
  return { address: account.address, privateKey: bytesToHex(privateKey), account };
}

export type PaymentChain = AsyncDisposable &
  Readonly<{
    anvil: Anvil;
    url: string;
    token: Address;
    balanceOf: (holder: Address) => Promise<bigint>;
    /** Sends a transaction, and waits for its receipt. */
    send: (from: TestAccount, to: Address, data: Hex) => Promise<Hex>;
  }>;

export async function startPaymentChain({
  blockTimeSeconds = 0.2,
  chainId = 1672,
}: Readonly<{ blockTimeSeconds?: number; chainId?: number }> = {}): Promise<PaymentChain> {
  const accounts = 10;
  const anvil = await startAnvil(
    { chainId, blockTimeSeconds },
    { log: createLog({ service: "test", level: "silent" }), signal: new AbortController().signal },
  );
  const holders = Array.from({ length: accounts }, (_, index) => testAccount(index).address);
  await Promise.all(holders.map((holder) => anvil.request("anvil_setBalance", [holder, toHex(parseEther("100"))])));
  const token = await deployContracts(anvil, async () => ({ chainId, holders }));
  const client = createWalletClient({ transport: http(anvil.url), pollingInterval: 50 }).extend(publicActions);
  return {
    anvil,
    url: anvil.url,
    token,
    balanceOf: (holder) =>
      client.readContract({ address: tokenAddress, abi: erc20Abi, functionName: "balanceOf", args: [holder] }),
    send: async ({ account }, to, data) => {
      const hash = await client.sendTransaction({ account, chain: null, to, data });
      await client.waitForTransactionReceipt({ hash });
      return hash;
    },
    [Symbol.asyncDispose]: () => anvil[Symbol.asyncDispose](),
  };
}
