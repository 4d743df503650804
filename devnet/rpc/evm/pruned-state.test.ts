import { expect, test } from "vitest";
import { AnvilRequestError } from "../../anvil/anvil-request.ts";
import { PrunedStateError, withPrunedStates } from "./pruned-state.ts";

const root = "ab".repeat(32);

/** A chain at block 300 that has no state of any other block. */
function chainAsked(requested: number) {
  return withPrunedStates({
    request: async <T>(method: string) => {
      if (method === "eth_getBlockByNumber") return { stateRoot: `0x${root}` } as T;
      const message = `BlockOutOfRangeError: block height is 300 but requested was ${requested}`;
      throw new AnvilRequestError(method, { code: -32602, message });
    },
  });
}

test("the state of an old block is missing, as a full node has it", async () => {
  const asked = chainAsked(5).request("eth_getBalance", []);
  await expect(asked).rejects.toThrow(PrunedStateError);
  await expect(asked).rejects.toMatchObject({
    code: -32000,
    message: `missing trie node ${root} (path ) state 0x${root} is not available`,
  });
});

test("a block to come keeps anvil's error", async () => {
  await expect(chainAsked(301).request("eth_getBalance", [])).rejects.toThrow(AnvilRequestError);
});
