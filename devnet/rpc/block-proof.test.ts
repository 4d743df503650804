import * as Bls from "ox/Bls";
import * as BlsPoint from "ox/BlsPoint";
import { expect, test } from "vitest";
import { deriveBlsPublicKey, proveBlock } from "./block-proof.ts";
import { validatorAddresses } from "../anvil/validators.ts";

const block = { number: "0x7", hash: `0x${"ab".repeat(32)}` } as const;

test("the aggregate signature is the signers' own, over the block's hash", () => {
  const proof = proveBlock(block);
  const publicKey = Bls.aggregate(proof.signers.map((signer) => BlsPoint.fromHex(signer, "G1")));
  const signature = BlsPoint.fromHex(proof.aggregateSignature, "G2");
  expect(Bls.verify({ payload: block.hash, publicKey, signature })).toBe(true);
  expect(Bls.verify({ payload: `0x${"ac".repeat(32)}`, publicKey, signature })).toBe(false);
});

test("three of the four validators sign, the proposer first, always the same way", () => {
  const proof = proveBlock(block);
  expect(proof.signers).toEqual([3, 0, 1].map((index) => deriveBlsPublicKey(validatorAddresses[index]!)));
  expect(proveBlock(block)).toEqual(proof);
});
