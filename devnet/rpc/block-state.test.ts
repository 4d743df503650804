import { expect, test } from "vitest";
import type { Block } from "./block-reader.ts";
import { readStates, listStateKeys, readWrittenStates } from "./block-state.ts";
import type { Node } from "./method.ts";

const account = `0x${"aa".repeat(20)}` as const;
const contract = `0x${"cc".repeat(20)}` as const;
const slot = `0x${"01".repeat(32)}` as const;
const one = `0x${"00".repeat(31)}01` as const;
const zero = `0x${"00".repeat(32)}` as const;

const block = { number: "0x1", transactions: ["0xa", "0xb"] } as unknown as Block;

/** A node whose tracer shows the effects of transactions 0xa and 0xb. */
function nodeWith(traces: Readonly<Record<string, unknown>>): Node {
  return {
    version: "0.16.2",
    anvil: { request: async <T>(_: string, params: readonly unknown[] = []) => traces[params[0] as string] as T },
  };
}

test("read states are those from before the block's first transaction", async () => {
  const node = nodeWith({
    "0xa": { [account]: { balance: "0x5", nonce: 1 } },
    "0xb": { [account]: { balance: "0x4", nonce: 2 }, [contract]: { storage: { [slot]: one } } },
  });
  expect(await readStates(node, block)).toEqual({
    [account]: { balance: "0x5", nonce: 1 },
    [contract]: { storage: { [slot]: one } },
  });
});

test("written states are those after the last transaction, cleared slots among them", async () => {
  const node = nodeWith({
    "0xa": { pre: {}, post: { [account]: { balance: "0x4" }, [contract]: { storage: { [slot]: one } } } },
    "0xb": { pre: { [contract]: { storage: { [slot]: one } } }, post: { [account]: { balance: "0x3" } } },
  });
  const states = await readWrittenStates(node, block);
  expect(states).toEqual({ [account]: { balance: "0x3" }, [contract]: { storage: { [slot]: zero } } });
  expect(listStateKeys(states)).toEqual([account, `${contract}${slot.slice(2)}`]);
});
