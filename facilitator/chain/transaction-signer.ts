import * as Address from "ox/Address";
import * as PublicKey from "ox/PublicKey";
import * as TxEnvelopeEip1559 from "ox/TxEnvelopeEip1559";
import secp256k1 from "secp256k1";
import type { Secret } from "#daemon/secrets/secret.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import type { Hex } from "#x402/hex.ts";
import { keccak256 } from "#x402/typed-data.ts";

type SignedTransaction = Readonly<{ hash: Hex; rawTransaction: Hex }>;

type Transaction = Readonly<{
  chainId: number;
  nonce: number;
  to: Hex;
  data: Hex;
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}>;

export type TransactionSigner = Readonly<{
  address: Hex;
  sign: (transaction: Transaction) => Promise<SignedTransaction>;
  /** Signs something other than a transaction, to check whether the key can sign. Throws like `sign`. */
  check: () => Promise<void>;
}>;

/** Signing accounts of one chain. The first one can do whatever any of them can. */
export type TransactionSigners = readonly [TransactionSigner, ...TransactionSigner[]];

/** Signature by secp256k1: 64 bytes with a low `s` (EIP-2), and the parity of the point's `y`. */
export type DigestSignature = Readonly<{ compact: Uint8Array; yParity: number }>;

/** An account's key, local or in a remote service; no other type knows where keys are. */
export type SigningKey = Readonly<{
  address: Hex;
  signDigest: (digest: Uint8Array) => DigestSignature | Promise<DigestSignature>;
}>;

export function createTransactionSigner({ address, signDigest }: SigningKey): TransactionSigner {
  return {
    address,
    sign: async (transaction) => {
      const unsignedTransaction = TxEnvelopeEip1559.from({ ...transaction, nonce: BigInt(transaction.nonce) });
      const digest = keccak256(toBytes(TxEnvelopeEip1559.serialize(unsignedTransaction)));
      const { compact, yParity } = await signDigest(digest);
      const rawTransaction = TxEnvelopeEip1559.serialize(unsignedTransaction, {
        signature: { r: readInteger(compact.subarray(0, 32)), s: readInteger(compact.subarray(32)), yParity },
      });
      return { hash: `0x${keccak256(toBytes(rawTransaction)).toString("hex")}`, rawTransaction };
    },
    check: async () => void (await signDigest(keccak256(Buffer.from("gatehouse: whether this key signs")))),
  };
}

/**
 * Creates a signing key from the private key in a setting (32 bytes, 0x-prefixed hexadecimal). Signatures are deterministic (RFC 6979).
 *
 * @throws {StartupError} when the number is not a valid private key: zero, or not below the group's order.
 */
export function createLocalKey(privateKey: Secret, setting = "signer.privateKey"): SigningKey {
  const key = Buffer.from(privateKey.reveal().slice(2), "hex");
  if (!secp256k1.privateKeyVerify(key)) {
    throw new StartupError(`${setting} is not a secp256k1 private key (zero or too large); set the signer's key.`);
  }
  return {
    address: computeAddress(secp256k1.publicKeyCreate(key, false)),
    signDigest: (digest) => {
      const { signature, recid } = secp256k1.ecdsaSign(digest, key);
      return { compact: signature, yParity: recid };
    },
  };
}

/** Computes the account of an uncompressed public key (65 bytes). */
export function computeAddress(publicKey: Uint8Array): Hex {
  return Address.fromPublicKey(PublicKey.fromHex(`0x${Buffer.from(publicKey).toString("hex")}`), { checksum: true });
}

function toBytes(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), "hex");
}

/** Reads the gas limit of a transaction signed by any signer, in this run or an earlier one. */
export function readGasLimit(rawTransaction: Hex): bigint {
  return TxEnvelopeEip1559.deserialize(`0x02${rawTransaction.slice(4)}`).gas ?? 0n;
}

function readInteger(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
}
