import { existsSync } from "node:fs";
import { join } from "node:path";
import { privateKeyToAccount } from "viem/accounts";
import { expect, onTestFinished, test, vi } from "vitest";
import { Secret } from "#daemon/secrets/secret.ts";
import type { Hex } from "#x402/hex.ts";
import { startKmsDouble } from "../testing/kms-double.ts";
import { openSigners } from "./open-signers.ts";

const root = join(import.meta.dirname, "../..");
/** An optional peer. */
const hasKms = existsSync(join(root, "node_modules/@aws-sdk/client-kms"));
const [keyA, keyB]: readonly [Hex, Hex] = [`0x${"a1".repeat(32)}`, `0x${"b2".repeat(32)}`];
const signal = new AbortController().signal;
const addressOf = (key: Hex) => privateKeyToAccount(key).address;

/** A command that runs a script with this Node. */
const runScript = (script: string): readonly [string, ...string[]] => [process.execPath, "-e", script];

const transaction = (nonce: number) => ({
  chainId: 1_672,
  nonce,
  to: `0x${"05".repeat(20)}` as const,
  data: "0x1234" as const,
  gas: 60_000n,
  maxFeePerGas: 10n,
  maxPriorityFeePerGas: 1n,
});

async function startKms(keys: Readonly<Record<string, Hex>>) {
  const kms = await startKmsDouble(keys);
  onTestFinished(() => kms[Symbol.asyncDispose]());
  for (const [name, value] of Object.entries(kms.env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  return kms;
}

test("reads a key from each line of a program that gets no secrets", async () => {
  vi.stubEnv("GATEHOUSE_FACILITATOR_API_KEYS", keyA);
  onTestFinished(() => void vi.unstubAllEnvs());
  const script = `console.log(process.env.GATEHOUSE_FACILITATOR_API_KEYS ?? "${keyB}"); console.log("${"c3".repeat(32)}")`;
  const signers = await openSigners({ privateKey: [new Secret(keyA)], command: runScript(script) }, { signal });
  expect(signers.map(({ address }) => address)).toEqual([keyA, keyB, `0x${"c3".repeat(32)}` as const].map(addressOf));
});

test.each([
  ["that fails", `console.log("${keyB}"); process.exitCode = 3`, /^signer\.command: .* failed; run it manually/],
  ["that prints other text", `console.log("${keyB.slice(0, 60)}")`, /must print private keys of 64 hexadecimal digits/],
  ["that prints an invalid key", `console.log("${"f".repeat(64)}")`, /^a key that signer\.command printed is not a/],
  ["that prints a configured key", `console.log("${keyA}")`, /^signer: two keys belong to account 0x/],
])("doesn't start with a key program %s, and doesn't print its output", async (_, script, message) => {
  const openedSigners = openSigners({ privateKey: [new Secret(keyA)], command: runScript(script) }, { signal });
  const error: unknown = await openedSigners.catch((caught: unknown) => caught);
  expect(error).toMatchObject({ message: expect.stringMatching(message) });
  expect(String(error)).not.toContain(keyB.slice(2, 40));
});

test.skipIf(!hasKms)("signs with an AWS KMS key exactly as with the local key", async () => {
  const kms = await startKms({ "alias/signer": keyA });
  const [signer] = await openSigners({ kmsKeys: ["alias/signer"] }, { signal });
  expect(signer.address).toBe(addressOf(keyA));
  const [localSigner] = await openSigners({ privateKey: [new Secret(keyA)] }, { signal });
  const nonces = Array.from({ length: 20 }, (_, nonce) => nonce);
  for (const nonce of nonces)
    expect(await signer.sign(transaction(nonce))).toEqual(await localSigner.sign(transaction(nonce)));
  expect(kms.asked).toEqual(["GetPublicKey", ...nonces.map(() => "Sign")]);
  kms.setMode("rejects");
  const signerError = { fault: "signer", message: "AWS KMS can't sign with alias/signer: alias/signer is disabled." };
  await expect(signer.sign(transaction(20))).rejects.toMatchObject(signerError);
  await expect(signer.check()).rejects.toMatchObject(signerError);
  kms.setMode("signs");
  await signer.check();
});

test.skipIf(!hasKms)("doesn't start with an unknown KMS key, and lists the likely causes", async () => {
  await startKms({});
  await expect(openSigners({ kmsKeys: ["alias/none"] }, { signal })).rejects.toThrow(
    "signer.kmsKeys: AWS KMS returns no usable public key for alias/none: Invalid keyId 'alias/none'. Check the key, the region, and the permissions kms:GetPublicKey and kms:Sign.",
  );
});
