import * as fc from "fast-check";
import { keccak256 } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { expect, it } from "vitest";
import { Secret } from "#daemon/secrets/secret.ts";
import type { Hex } from "#x402/hex.ts";
import { createLocalKey, createTransactionSigner, readGasLimit } from "./transaction-signer.ts";

const hex = (bytes: Readonly<{ minLength: number; maxLength: number }>) =>
  fc.uint8Array(bytes).map((value): Hex => `0x${Buffer.from(value).toString("hex")}`);
const wei = fc.bigInt({ min: 0n, max: 10n ** 15n });

const transactions = fc.record({
  chainId: fc.integer({ min: 1, max: 2 ** 31 }),
  nonce: fc.nat(),
  to: hex({ minLength: 20, maxLength: 20 }),
  data: hex({ minLength: 0, maxLength: 300 }),
  gas: fc.bigInt({ min: 0n, max: 30_000_000n }),
  maxPriorityFeePerGas: wei,
  more: wei,
});

/** Below the group order and nonzero. */
const keys = hex({ minLength: 32, maxLength: 32 }).filter((key) => !/^0x(?:f{8}|0{64})/.test(key));

it("produces the same address, bytes and hash as viem", async () => {
  await fc.assert(
    fc.asyncProperty(keys, transactions, async (key, { more, ...fields }) => {
      const transaction = { ...fields, maxFeePerGas: fields.maxPriorityFeePerGas + more };
      const signer = createTransactionSigner(createLocalKey(new Secret(key)));
      const account = privateKeyToAccount(key);
      const expected = await account.signTransaction({ ...transaction, type: "eip1559" });
      expect(signer.address).toBe(account.address);
      expect(readGasLimit(expected)).toBe(fields.gas);
      expect(await signer.sign(transaction)).toEqual({ hash: keccak256(expected), rawTransaction: expected });
    }),
    { numRuns: 200 },
  );
});
