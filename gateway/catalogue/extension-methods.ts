import type { Method } from "./method.ts";
import { account, block, byBlock, defineNodeMethod, optionalBlock, perHead, transactionHash } from "./method-parts.ts";

function defineStatesMethod(name: string, summary: string, result: string): Method {
  return defineNodeMethod({
    name,
    summary,
    params: [block],
    result,
    audience: "internal",
    cache: byBlock(0),
    costUnits: 200,
  });
}

/** Specification, "Extension methods". */
export const extensionMethods: readonly Method[] = [
  defineNodeMethod({
    name: "eth_getAccount",
    summary: "Balance, nonce, code hash and storage root of an account (EIP-7587)",
    params: [account, block],
    result: "account object",
    cache: byBlock(1),
    costUnits: 20,
  }),
  defineNodeMethod({
    name: "eth_getProposerByTxHash",
    summary: "Proposer of the block that contains a transaction",
    params: [transactionHash],
    result: "proposer information object",
    audience: "private",
    cache: perHead,
    costUnits: 20,
  }),
  defineNodeMethod({
    name: "eth_getProposersByBlockNumber",
    summary: "Proposers of a block",
    params: [block],
    result: "array of addresses",
    audience: "private",
    cache: byBlock(0),
    costUnits: 20,
  }),
  defineNodeMethod({
    name: "debug_getValidatorInfo",
    summary: "Validators at a block",
    params: [optionalBlock],
    result: "validator details object",
    cache: byBlock(0),
    costUnits: 40,
  }),
  defineNodeMethod({
    name: "debug_getBlockProof",
    summary: "Proof of a block, with BLS signatures",
    params: [block],
    result: "block proof object",
    cache: byBlock(0),
    costUnits: 60,
  }),
  defineStatesMethod("debug_getBlockReadStates", "State that a block read", "read state data"),
  defineStatesMethod("debug_getBlockWriteStates", "State that a block wrote", "write state data"),
  defineStatesMethod("debug_getBlockWriteSetKeys", "Keys that a block wrote", "array of write set keys"),
];
