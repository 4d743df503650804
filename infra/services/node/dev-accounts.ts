import type { StackConfig } from "../../config/config-schema.ts";
import { findRenderedValue } from "../rendered-settings.ts";

/**
 * Mnemonic for the devnet's funded accounts. It is public, so its keys protect nothing: the program uses them only with `devAccounts:
 * true`, and rejects that setting for a real node.
 */
export const devnetMnemonic = "test test test test test test test test test test test junk";

/**
 * Accounts 0, 1 and 2 on the devnet: the facilitator's signer, a paying client, and the payee. They are hard-coded because deriving them
 * (BIP-39, BIP-32) would take a quarter of the program's run time.
 */
export const devAccounts = {
  signer: {
    address: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    privateKey: "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
  },
  payer: { privateKey: "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d" },
  payee: { address: "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC" },
} as const;

/** Returns the key of the account that submits a stack's settlements; `undefined` if the stack has none, as with remote keys only. */
export function findSignerKey({
  devAccounts: hasDevAccounts,
  signerPrivateKey,
}: Pick<StackConfig, "devAccounts" | "signerPrivateKey">): string | undefined {
  return signerPrivateKey ?? (hasDevAccounts ? devAccounts.signer.privateKey : undefined);
}

export function findStackSecret(
  config: Pick<StackConfig, "devAccounts" | "signerPrivateKey" | "stackSecret">,
): string | undefined {
  return config.stackSecret ?? findSignerKey(config);
}

/** Returns whether the facilitator's own settings specify signing keys that the stack doesn't contain: in AWS KMS, or from a program. */
export function hasRemoteSigner({ settings }: Pick<StackConfig, "settings">): boolean {
  const [kmsKeys, command] = ["kmsKeys", "command"].map((key) =>
    findRenderedValue(settings.facilitator ?? {}, ["signer", key]),
  );
  return command !== undefined || (Array.isArray(kmsKeys) && kmsKeys.length > 0);
}
