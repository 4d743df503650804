import { chmod, writeFile } from "node:fs/promises";
import { mnemonicToAccount } from "viem/accounts";
import { bytesToHex, type Address, type Hex } from "viem";

/** Public mnemonic of the accounts that anvil funds; only for the embedded stack. */
export const embeddedMnemonic = "test test test test test test test test test test test junk";

export type EmbeddedAccount = Readonly<{ address: Address; privateKey: Hex }>;

export type EmbeddedAccounts = Readonly<{ signer: EmbeddedAccount; client: EmbeddedAccount; payee: EmbeddedAccount }>;

/** Derives accounts 0, 1 and 2 of {@link embeddedMnemonic}: the facilitator's signer, the paying client, the payee. */
export function deriveEmbeddedAccounts(): EmbeddedAccounts {
  return { signer: deriveAccount(0), client: deriveAccount(1), payee: deriveAccount(2) };
}

function deriveAccount(addressIndex: number): EmbeddedAccount {
  const derivedAccount = mnemonicToAccount(embeddedMnemonic, { addressIndex });
  const key = derivedAccount.getHdKey().privateKey;
  if (key === null) throw new Error(`account ${addressIndex} has no private key`);
  return { address: derivedAccount.address, privateKey: bytesToHex(key) };
}

/** Writes a key to a file that only its owner can read. */
export async function writeKeyFile(path: string, { privateKey }: EmbeddedAccount): Promise<void> {
  await writeFile(path, `${privateKey}\n`, { mode: 0o600 });
  await chmod(path, 0o600);
}
