import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createSubject, type TestSubject } from "#devnet/testing/rpc-subject.ts";
import { startTestNode, type TestNode } from "#devnet/testing/rpc-fixture.ts";

let node: TestNode;
let subject: TestSubject;
beforeAll(async () => {
  node = await startTestNode({ profile: "strict" });
  subject = await createSubject(node);
});
afterAll(() => node[Symbol.asyncDispose]());

test("a strict node writes numbers in decimal where the specification does not show their form", async () => {
  const { transaction, blockNumber, blockHash } = subject;
  const identity = { blockNumber: Number(blockNumber), blockHash };
  const proposal = await node.ask("eth_getProposerByTxHash", transaction);
  expect(proposal).toMatchObject({ ...identity, validatorIndex: Number(blockNumber) % 4 });
  const validator = { index: 0, votingPower: 1, proposedBlocks: 0 };
  const info = await node.ask("debug_getValidatorInfo", blockNumber);
  expect(info).toMatchObject({ ...identity, validators: [validator, { proposedBlocks: 1 }, {}, {}] });
  for (const method of ["debug_getBlockProof", "debug_getBlockReadStates", "debug_getBlockWriteStates"])
    expect(await node.ask(method, blockNumber), method).toMatchObject(identity);
  expect(await node.ask("debug_protocolVersion")).toMatchObject({ currentStableBlock: expect.any(Number) });
});

test("a strict node's quantities are hexadecimal where the specification says so", async () => {
  const quantity = z.string().regex(/^0x(0|[1-9a-f][0-9a-f]*)$/);
  for (const [method, ...params] of [
    ["eth_blockNumber"],
    ["eth_chainId"],
    ["eth_gasPrice"],
    ["eth_getBalance", subject.account, "latest"],
    ["eth_getTransactionCount", subject.account, "latest"],
    ["eth_getBlockTransactionCountByNumber", subject.blockNumber],
    ["net_peerCount"],
  ] as const)
    expect(quantity.safeParse(await node.ask(method, ...params)).success, method).toBe(true);
});
