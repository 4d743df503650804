import { hex, pieces, type BlockRange } from "../chain/block-range.ts";
import { type CheckedParams } from "./checked-params.ts";
import { asBinary } from "../json-rpc/answer-text.ts";

/** Cuts a filter into pieces of at most `capBlocks`, each with the same selection, which is written once. */
export function splitFilter(range: BlockRange, capBlocks: number, selection: object): CheckedParams {
  const fields = asBinary(JSON.stringify(selection)).slice(1, -1);
  const rest = fields === "" ? "" : `,${fields}`;
  return {
    kind: "split",
    pieces: pieces(range, capBlocks).map(
      ({ from, to }) => `[{"fromBlock":"${hex(from)}","toBlock":"${hex(to)}"${rest}}]`,
    ),
  };
}
