import { runProcess } from "#daemon/process/bounded-process.ts";
import { startStep } from "#daemon/process/start-step.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import type { Secret } from "#daemon/secrets/secret.ts";
import { privateKeys } from "#daemon/settings/types.ts";
import type { Hex } from "#x402/hex.ts";
import { openKmsKeys } from "./kms-keys.ts";
import { createLocalKey, createTransactionSigner, type TransactionSigners } from "./transaction-signer.ts";

/** Locations of the signing accounts' keys; all configured ones are used, in this order. */
export type KeySources = Readonly<{
  privateKey?: readonly Secret[] | undefined;
  command?: readonly [string, ...string[]] | undefined;
  kmsKeys?: readonly string[] | undefined;
}>;

/**
 * Creates the signers of all configured keys.
 *
 * @throws {StartupError} when a key is invalid or unavailable, or when two belong to the same account: their queues would assign the same
 * nonces.
 */
export async function openSigners(
  { privateKey = [], command, kmsKeys = [] }: KeySources,
  { signal }: Readonly<{ signal: AbortSignal }>,
): Promise<TransactionSigners> {
  const printedKeys = command === undefined ? [] : await readCommandKeys(command, { signal });
  const keys = [
    ...privateKey.map((key) => createLocalKey(key)),
    ...printedKeys.map((key) => createLocalKey(key, "a key that signer.command printed")),
    ...(await openKmsKeys(kmsKeys)),
  ];
  const [firstSigner, ...otherSigners] = keys.map(createTransactionSigner);
  if (firstSigner === undefined) throw new StartupError("no signer configured; set signer.privateKey.");
  const signers = [firstSigner, ...otherSigners] as const;
  const addresses = listAddresses(signers);
  const repeatedAddress = addresses.find((address, index) => addresses.indexOf(address) !== index);
  if (repeatedAddress !== undefined)
    throw new StartupError(`signer: two keys belong to account ${repeatedAddress}; remove one.`);
  return signers;
}

const timeoutMs = 30_000;
const outputLimitBytes = 16_384;

/**
 * Runs the program that prints private keys, one per line. It gets a small fixed environment, and none of its output is
 * logged.
 *
 * @throws {StartupError} when it fails, or prints anything else.
 */
async function readCommandKeys(
  command: readonly [string, ...string[]],
  { signal }: Readonly<{ signal: AbortSignal }>,
): Promise<readonly Secret[]> {
  const [file] = command;
  const options = { command, directory: process.cwd(), timeoutMs, outputLimitBytes, signal };
  const result = await startStep(`the program of signer.command (${file})`, () => runProcess(options));
  if (!result.ok) {
    const why = result.said === undefined ? result.message : `${file} failed; run it manually to see why.`;
    throw new StartupError(`signer.command: ${why}`);
  }
  const keys = privateKeys.safeParse(result.output);
  if (keys.success) return keys.data;
  throw new StartupError(
    `signer.command: ${file} must print private keys of 64 hexadecimal digits each, one per line.`,
  );
}

export function listAddresses([firstSigner, ...otherSigners]: TransactionSigners): readonly [Hex, ...Hex[]] {
  return [firstSigner.address, ...otherSigners.map(({ address }) => address)];
}
