import { createPrivateKey, createPublicKey } from "node:crypto";
import { expect, it } from "vitest";
import { deriveAccessTokens } from "./access-tokens.ts";
import { dockerAddresses } from "./stack-context.ts";

const secret = (text: string) => ({ kind: "secret", check: text, value: text }) as const;
const context = (prefix: string) => ({ prefix, addresses: dockerAddresses, secret });
const keyOf = (signerPrivateKey: string, prefix: string) =>
  deriveAccessTokens({ devAccounts: false, signerPrivateKey }, context(prefix)).privateKey?.check ?? "";

it("a stack derives a stable Ed25519 key for signing tokens", () => {
  const pem = keyOf(`0x${"17".repeat(32)}`, "gatehouse-prod");
  expect(createPrivateKey(pem).asymmetricKeyType).toBe("ed25519");
  expect(createPublicKey(pem).export({ format: "jwk" })).toMatchObject({ crv: "Ed25519" });
  expect(keyOf(`0x${"17".repeat(32)}`, "gatehouse-prod")).toBe(pem);
});

it("another signer or stack derives a different key", () => {
  const pem = keyOf(`0x${"17".repeat(32)}`, "gatehouse-prod");
  expect(keyOf(`0x${"18".repeat(32)}`, "gatehouse-prod")).not.toBe(pem);
  expect(keyOf(`0x${"17".repeat(32)}`, "gatehouse-test")).not.toBe(pem);
});

it("a stack without a signer derives no key", () => {
  expect(deriveAccessTokens({ devAccounts: false }, context("gatehouse-prod")).privateKey).toBeUndefined();
});
