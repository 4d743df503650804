import type { StackConfig } from "../../config/config-schema.ts";

/**
 * The words that the devnet node funds its accounts from. They are public, so the keys made of them guard nothing: the program uses them only if a stack
 * says `devAccounts: true`, and refuses that with a real node.
 */
export const devnetMnemonic = "test test test test test test test test test test test junk";

/**
 * Accounts 0 and 2 of the devnet: the facilitator's signer, with its key, and the payee; 1 is left to a paying client. Written
 * down because deriving them (BIP-39, BIP-32) would take a quarter of the program's time.
 */
export const devAccounts = {
  signer: {
    address: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    privateKey: "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
  },
  payee: { address: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC" },
} as const;

/** Finds the key of the account that submits a stack's settlements; `undefined` if it has none, which the facilitator refuses. */
export function findSignerKey({
  devAccounts: hasDevAccounts,
  signerPrivateKey,
}: Pick<StackConfig, "devAccounts" | "signerPrivateKey">): string | undefined {
  return signerPrivateKey ?? (hasDevAccounts ? devAccounts.signer.privateKey : undefined);
}
