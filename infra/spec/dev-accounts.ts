import { bytesToHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";

/**
 * The words that the devnet node funds its accounts from. They are public, so the keys made of them guard nothing: the program
 * uses them only where a stack says `devAccounts: true`, and refuses that beside a real node.
 */
export const devnetMnemonic = "test test test test test test test test test test test junk";

/** An account of the devnet: its address, and its key. */
type DevAccount = Readonly<{ address: string; privateKey: string }>;

/** Accounts 0, 1 and 2 of the devnet: the facilitator's signer, a paying client and the payee. */
export function devAccounts(): Readonly<{ signer: DevAccount; client: DevAccount; payee: DevAccount }> {
  return { signer: account(0), client: account(1), payee: account(2) };
}

function account(addressIndex: number): DevAccount {
  const derived = mnemonicToAccount(devnetMnemonic, { addressIndex });
  const key = derived.getHdKey().privateKey;
  if (key === null) throw new Error(`account ${addressIndex} of the devnet has no private key`);
  return { address: derived.address, privateKey: bytesToHex(key) };
}
