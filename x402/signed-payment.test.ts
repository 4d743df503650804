import { keccak256, toBytes, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { isSignedBy, parseSignature, encodeSignature } from "./signed-payment.ts";

const account = privateKeyToAccount(generatePrivateKey());
const digest = keccak256(toBytes("a payment"));
const signature = await account.sign({ hash: digest });
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** The other form of the same ECDSA signature: n - s, and the other parity. */
function malleated(text: Hex): Hex {
  const s = order - BigInt(`0x${text.slice(66, 130)}`);
  return `${text.slice(0, 66) as Hex}${s.toString(16).padStart(64, "0")}${text.endsWith("1b") ? "1c" : "1b"}`;
}

test("accepts a signature only for its account and digest", () => {
  const parsed = parseSignature(signature);
  if (parsed === undefined) throw new Error("not parsed");
  expect(isSignedBy(account.address, toBytes(digest), parsed)).toBe(true);
  expect(isSignedBy(account.address.toLowerCase() as Hex, toBytes(digest), parsed)).toBe(true);
  expect(isSignedBy(privateKeyToAccount(generatePrivateKey()).address, toBytes(digest), parsed)).toBe(false);
  expect(isSignedBy(account.address, toBytes(keccak256("0x01")), parsed)).toBe(false);
});

test("encodes v of 0 and 1 as 27 and 28", () => {
  const bare = `${signature.slice(0, -2)}${signature.endsWith("1b") ? "00" : "01"}`;
  const [short, long] = [parseSignature(bare), parseSignature(signature)];
  expect(short).toEqual(long);
  expect(short && encodeSignature(short)).toBe(
    `${signature.slice(-2).padStart(64, "0")}${signature.slice(2, 66)}${signature.slice(66, 130)}`,
  );
});

test.each([
  ["a malleated s", malleated(signature)],
  ["another v", `${signature.slice(0, -2)}1d`],
  ["a byte too few", signature.slice(0, -2)],
  ["a byte too many", `${signature}00`],
  ["no prefix", signature.slice(2)],
  ["non-hexadecimal characters", `0x${"zz".repeat(65)}`],
])("rejects a signature with %s", (_, text) => {
  expect(parseSignature(text)).toBeUndefined();
});

test.each([
  ["r of zero", `0x${"00".repeat(32)}${signature.slice(66)}`],
  ["s of zero", `${signature.slice(0, 66)}${"00".repeat(32)}1b`],
  ["r beyond the order", `0x${"ff".repeat(32)}${signature.slice(66)}`],
])("matches no account for %s", (_, text) => {
  const parsed = parseSignature(text);
  expect(parsed !== undefined && isSignedBy(account.address, toBytes(digest), parsed)).toBe(false);
});
