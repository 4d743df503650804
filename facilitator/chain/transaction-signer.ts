import * as Address from "ox/Address";
import * as PublicKey from "ox/PublicKey";
import * as TxEnvelopeEip1559 from "ox/TxEnvelopeEip1559";
import secp256k1 from "secp256k1";
import type { Secret } from "#daemon/secrets/secret.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import type { Hex } from "#x402/hex.ts";
import { keccak256 } from "#x402/keccak.ts";

/** Transaction ready to send, with its hash on the chain. */
type SignedTransaction = Readonly<{ hash: Hex; rawTransaction: Hex }>;

/** Unsigned EIP-1559 transaction. */
type Transaction = Readonly<{
  chainId: number;
  nonce: number;
  to: Hex;
  data: Hex;
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}>;

/** Account that signs EIP-1559 transactions. */
export type TransactionSigner = Readonly<{
  address: Hex;
  sign: (transaction: Transaction) => SignedTransaction;
  /** Reads the gas limit of a transaction signed by this signer, in this run or an earlier one. */
  readGasLimit: (rawTransaction: Hex) => bigint;
}>;

/**
 * Creates a signer from a private key (32 bytes, 0x-prefixed hexadecimal). Signatures are deterministic (RFC 6979).
 *
 * @throws {StartupError} when the number is not a valid private key: zero, or not below the group's order.
 */
export function createTransactionSigner(privateKey: Secret): TransactionSigner {
  const key = Buffer.from(privateKey.reveal().slice(2), "hex");
  if (!secp256k1.privateKeyVerify(key)) {
    throw new StartupError(
      "signer.privateKey is not a private key of secp256k1 (zero or too large); set the signer's own key.",
    );
  }
  const publicKey = Buffer.from(secp256k1.publicKeyCreate(key, false)).toString("hex");
  return {
    address: Address.fromPublicKey(PublicKey.fromHex(`0x${publicKey}`), { checksum: true }),
    sign: (transaction) => {
      const unsigned = TxEnvelopeEip1559.from({ ...transaction, nonce: BigInt(transaction.nonce) });
      const digest = keccak256(toBytes(TxEnvelopeEip1559.serialize(unsigned)));
      const { signature, recid } = secp256k1.ecdsaSign(digest, key);
      const rawTransaction = TxEnvelopeEip1559.serialize(unsigned, {
        signature: {
          r: readInteger(signature.subarray(0, 32)),
          s: readInteger(signature.subarray(32)),
          yParity: recid,
        },
      });
      return { hash: `0x${keccak256(toBytes(rawTransaction)).toString("hex")}`, rawTransaction };
    },
    readGasLimit,
  };
}

function toBytes(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), "hex");
}

/** Reads the gas limit of a signed transaction. */
export function readGasLimit(rawTransaction: Hex): bigint {
  return TxEnvelopeEip1559.deserialize(`0x02${rawTransaction.slice(4)}`).gas ?? 0n;
}

function readInteger(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
}
