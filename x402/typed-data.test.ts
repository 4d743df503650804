import * as fc from "fast-check";
import { hashTypedData, type Hex } from "viem";
import { expect, test } from "vitest";
import { computeAuthorizationDigest, encodeAuthorization, computeDomainSeparator } from "./typed-data.ts";

const address = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes): Hex => `0x${Buffer.from(bytes).toString("hex")}`);
const word = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes): Hex => `0x${Buffer.from(bytes).toString("hex")}`);
const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });

const types = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
} as const;

test("computes viem's digest for random authorizations and tokens", () => {
  fc.assert(
    fc.property(
      fc.record({ from: address, to: address, value: uint256, validAfter: uint256, validBefore: uint256, nonce: word }),
      fc.record({
        address,
        name: fc.string({ minLength: 1 }),
        version: fc.string({ minLength: 1 }),
        chainId: fc.integer({ min: 1, max: 2 ** 31 }),
      }),
      (authorization, token) => {
        const { address: verifyingContract, ...domain } = token;
        const expected = hashTypedData({
          domain: { ...domain, verifyingContract },
          types,
          primaryType: "TransferWithAuthorization",
          message: authorization,
        });
        const digest = computeAuthorizationDigest(computeDomainSeparator(token), encodeAuthorization(authorization));
        expect(`0x${Buffer.from(digest).toString("hex")}`).toBe(expected);
      },
    ),
    { numRuns: 50 },
  );
});
