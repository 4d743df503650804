import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestNode, type TestNode } from "#devnet/testing/rpc-fixture.ts";

let node: TestNode;
beforeAll(async () => void (node = await startTestNode({ profile: "pharos" })));
afterAll(() => node[Symbol.asyncDispose]());

const call = (id: number) => ({ jsonrpc: "2.0", id, method: "eth_blockNumber", params: [] });

/** Posts a batch of calls, and returns the number of results among the responses. */
async function countResults(calls: number): Promise<number> {
  const body = JSON.stringify(Array.from({ length: calls }, (_, id) => call(id)));
  const headers = { "content-type": "application/json" };
  const answers: unknown = await (await fetch(node.rpc.httpUrl, { method: "POST", headers, body })).json();
  return Array.isArray(answers) ? answers.filter((answer: object) => "result" in answer).length : 0;
}

test("a node of the public family reports its commit and quantities, and refuses batches of more than 20 calls", async () => {
  const commit = expect.stringMatching(/^[0-9a-f]{9}$/) as string;
  const quantity = expect.stringMatching(/^0x[0-9a-f]+$/) as string;
  const version = {
    binaryVersion: commit,
    protocolVersion: "0x1",
    currentSpecVersion: "0x1",
    currentStableBlock: quantity,
  };
  expect(await node.ask("debug_protocolVersion")).toMatchObject(version);
  expect(await node.ask("web3_clientVersion")).toMatch(/^pharos\/[0-9a-f]{9}\/linux$/);
  expect([await countResults(20), await countResults(21)]).toEqual([20, 0]);
});
