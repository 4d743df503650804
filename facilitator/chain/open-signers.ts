import { StartupError } from "#daemon/process/startup-error.ts";
import type { Secret } from "#daemon/secrets/secret.ts";
import type { Hex } from "#x402/hex.ts";
import { openKmsKeys } from "./kms-keys.ts";
import { readPrintedKeys } from "./printed-keys.ts";
import { createLocalKey, createTransactionSigner, type TransactionSigners } from "./transaction-signer.ts";

/** Where the keys of signing accounts are; all that are given are used, in this order. */
export type KeySources = Readonly<{
  privateKey?: readonly Secret[] | undefined;
  /** Program, with its arguments, that prints private keys. */
  command?: readonly [string, ...string[]] | undefined;
  /** Keys of AWS KMS. */
  kmsKeys?: readonly string[] | undefined;
}>;

/**
 * Creates the signers of all configured keys.
 *
 * @throws {StartupError} when a key is invalid or not available, or two are of the same account, whose queues would assign the same nonces.
 */
export async function openSigners(
  { privateKey = [], command, kmsKeys = [] }: KeySources,
  { signal }: Readonly<{ signal: AbortSignal }>,
): Promise<TransactionSigners> {
  const printed = command === undefined ? [] : await readPrintedKeys(command, { signal });
  const keys = [
    ...privateKey.map((key) => createLocalKey(key)),
    ...printed.map((key) => createLocalKey(key, "a key that signer.command printed")),
    ...(await openKmsKeys(kmsKeys)),
  ];
  const [first, ...others] = keys.map(createTransactionSigner);
  if (first === undefined) throw new StartupError("no signer configured; set signer.privateKey.");
  const signers = [first, ...others] as const;
  const addresses = listAddresses(signers);
  const twice = addresses.find((address, index) => addresses.indexOf(address) !== index);
  if (twice !== undefined) throw new StartupError(`signer: two keys belong to account ${twice}; remove one.`);
  return signers;
}

/** Lists the accounts of signers. */
export function listAddresses([first, ...others]: TransactionSigners): readonly [Hex, ...Hex[]] {
  return [first.address, ...others.map(({ address }) => address)];
}
