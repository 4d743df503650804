import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseCommandBlocks, type CommandBlock } from "./command-block.ts";

const root = join(import.meta.dirname, "../..");

/** The pages whose commands are typed. Those in a row share a directory, so that the second uses what the first has started. */
export const readers: readonly (readonly string[])[] = [
  [
    "docs/getting-started.md",
    "docs/http-apis.md",
    "docs/guides/sell-rpc.md",
    "docs/guides/pay.md",
    "docs/concepts/stock-stack.md",
    "docs/lint.md",
  ],
  ["docs/guides/guard-a-node.md", "docs/guides/rpc-on-the-internet.md"],
  ["docs/guides/guard-a-node-with-ops.md"],
];

export function readBlocks(page: string): readonly CommandBlock[] {
  return parseCommandBlocks(page, readFileSync(join(root, page), "utf8"));
}
