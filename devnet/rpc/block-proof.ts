import * as Bls from "ox/Bls";
import * as BlsPoint from "ox/BlsPoint";
import * as Hash from "ox/Hash";
import * as Hex from "ox/Hex";
import { validatorAddresses } from "../anvil/validators.ts";
import type { Block } from "./block-reader.ts";

/** Order of the BLS12-381 groups. */
const groupOrder = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n;

/** Min validator signatures that make a block final: more than two thirds. */
const signersMin = Math.floor((validatorAddresses.length * 2) / 3) + 1;

/** Proof that a quorum of validators signed a block (a devnet value; specification, `debug_getBlockProof`). */
export type BlockProof = Readonly<{
  /** The signers' BLS12-381 public keys: compressed points of G1, 48 bytes. */
  signers: readonly Hex.Hex[];
  /** The signers' aggregate signature: a compressed point of G2, 96 bytes. */
  aggregateSignature: Hex.Hex;
}>;

/**
 * Signs a block's hash on behalf of the devnet's validators. The signature is real: it verifies against the sum of the signers' keys. The
 * keys are derived from the validators' addresses, so a block's proof is deterministic.
 */
export function proveBlock(block: Pick<Block, "number" | "hash">): BlockProof {
  const first = Number(block.number) % validatorAddresses.length;
  const turn = [...validatorAddresses.slice(first), ...validatorAddresses.slice(0, first)];
  const signers = turn.slice(0, signersMin);
  // Signing with the sum of the keys gives the sum of the signatures, at the cost of one signature.
  const sum = signers.reduce((total, address) => (total + deriveSigningKey(address)) % groupOrder, 0n);
  const signature = Bls.sign({ payload: block.hash, privateKey: Hex.fromNumber(sum, { size: 32 }) });
  return {
    signers: signers.map(deriveBlsPublicKey),
    aggregateSignature: BlsPoint.toHex(signature),
  };
}

/** Derives a validator's BLS12-381 public key, compressed, 48 bytes. */
export function deriveBlsPublicKey(address: Hex.Hex): Hex.Hex {
  return BlsPoint.toHex(Bls.getPublicKey({ privateKey: Hex.fromNumber(deriveSigningKey(address), { size: 32 }) }));
}

function deriveSigningKey(address: Hex.Hex): bigint {
  return (BigInt(Hash.keccak256(address)) % (groupOrder - 1n)) + 1n;
}
