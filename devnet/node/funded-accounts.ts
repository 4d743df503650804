import { pbkdf2Sync } from "node:crypto";
import type { Address } from "viem";
import { HDKey, hdKeyToAccount } from "viem/accounts";

export type FundedAccountsOptions = Readonly<{
  /** BIP-39 words; if unset, only the addresses in `fund` are funded. */
  mnemonic: string | undefined;
  /** Number of accounts to derive from the mnemonic. */
  accounts: number;
  fund: readonly Address[];
}>;

/**
 * Derives the first accounts from the mnemonic (BIP-44 path m/44'/60'/0'/0/n) and adds those in `fund`, without duplicates. Derives the
 * seed as BIP-39 defines it, but natively and once for all accounts: viem takes 0.1 s per account.
 */
export function deriveFundedAccounts({ mnemonic, accounts, fund }: FundedAccountsOptions): readonly Address[] {
  const derived = mnemonic === undefined ? [] : deriveAddresses(mnemonic, accounts);
  return [...new Map([...derived, ...fund].map((address) => [address.toLowerCase(), address])).values()];
}

function deriveAddresses(mnemonic: string, accounts: number): readonly Address[] {
  const seed = pbkdf2Sync(mnemonic.normalize("NFKD"), "mnemonic", 2_048, 64, "sha512");
  const root = HDKey.fromMasterSeed(seed);
  return Array.from({ length: accounts }, (_, addressIndex) => hdKeyToAccount(root, { addressIndex }).address);
}
