import secp256k1 from "secp256k1";
import type { TransactionSerializableEIP1559 } from "viem";
import { keccak256, publicKeyToAddress, serializeTransaction } from "viem/utils";
import type { Secret } from "#daemon/secret.ts";
import { StartupError } from "#daemon/startup-error.ts";
import type { Hex } from "#x402/hex.ts";

/** A transaction ready to be sent, with the hash by which the chain will know it. */
type SignedTransaction = Readonly<{ hash: Hex; rawTransaction: Hex }>;

/** An account that signs EIP-1559 transactions. */
export type TransactionSigner = Readonly<{
  address: Hex;
  sign: (transaction: Omit<TransactionSerializableEIP1559, "type">) => SignedTransaction;
}>;

/**
 * Creates the signer of a private key (32 bytes, 0x-prefixed hexadecimal). Signatures are deterministic (RFC 6979).
 *
 * @throws {StartupError} when the number is no private key: zero, or not below the group's order.
 */
export function createTransactionSigner(privateKey: Secret): TransactionSigner {
  const key = Buffer.from(privateKey.reveal().slice(2), "hex");
  if (!secp256k1.privateKeyVerify(key)) {
    throw new StartupError(
      "signer.privateKey is no private key of secp256k1 (zero or too large); set the signer's own key.",
    );
  }
  const publicKey = Buffer.from(secp256k1.publicKeyCreate(key, false)).toString("hex");
  return {
    address: publicKeyToAddress(`0x${publicKey}`),
    sign: (transaction) => {
      const unsigned = { ...transaction, type: "eip1559" } as const;
      const digest = keccak256(serializeTransaction(unsigned), "bytes");
      const { signature, recid } = secp256k1.ecdsaSign(digest, key);
      const rawTransaction = serializeTransaction(unsigned, {
        r: `0x${Buffer.from(signature.subarray(0, 32)).toString("hex")}`,
        s: `0x${Buffer.from(signature.subarray(32, 64)).toString("hex")}`,
        yParity: recid,
      });
      return { hash: keccak256(rawTransaction), rawTransaction };
    },
  };
}
