import { keccak256, toBytes } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { isSignedBy, parseSignature } from "./signed-payment.ts";

const account = privateKeyToAccount(generatePrivateKey());
const digest = keccak256(toBytes("a payment"));
const signature = await account.sign({ hash: digest });
// test/x402/recorded-payments.jsonl has the other signatures.
test.each([
  ["r of zero", `0x${"00".repeat(32)}${signature.slice(66)}`],
  ["s of zero", `${signature.slice(0, 66)}${"00".repeat(32)}1b`],
  ["r beyond the order", `0x${"ff".repeat(32)}${signature.slice(66)}`],
])("matches no account for %s", (_, text) => {
  const parsed = parseSignature(text);
  expect(parsed !== undefined && isSignedBy(account.address, toBytes(digest), parsed)).toBe(false);
});
