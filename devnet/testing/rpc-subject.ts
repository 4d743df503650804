import { getContractAddress, type Hex } from "viem";
import {
  callerCode,
  createWallet,
  encodeCreation,
  otherSender,
  sender,
  testChainId,
  writerCode,
  type TestNode,
  type Wallet,
} from "./rpc-fixture.ts";

/** Subject of the methods' tests: a block with `transaction`, which wrote to `contract` and emitted a log, and the wallet that sent it. */
export type TestSubject = Readonly<{
  account: string;
  contract: string;
  blockHash: string;
  blockNumber: string;
  transaction: string;
  signed: string;
  wallet: Wallet;
  caller: Hex;
  written: Hex;
}>;

export async function createSubject(node: TestNode): Promise<TestSubject> {
  const wallet = await createWallet(node);
  const contract = getContractAddress({ from: sender.address, nonce: 0n });
  const caller = getContractAddress({ from: sender.address, nonce: 1n });
  await wallet.send({ data: encodeCreation(writerCode) });
  await wallet.send({ data: encodeCreation(callerCode) });
  await node.anvil.mine();
  const written: Hex = `0x${"11".repeat(32)}`;
  const transaction = await wallet.send({ to: contract, data: written });
  const { hash: blockHash, number: blockNumber } = await node.anvil.mine();
  const signed = await otherSender.signTransaction({
    type: "eip1559",
    chainId: testChainId,
    nonce: 0,
    gas: 21_000n,
    to: sender.address,
    maxFeePerGas: 20_000_000_000n,
    maxPriorityFeePerGas: 1n,
  });
  return { account: sender.address, contract, caller, wallet, written, transaction, signed, blockHash, blockNumber };
}
