import { z } from "zod";
import { address, blockNumberOrTag, hash } from "./params.ts";
import { errorCode, RpcError } from "./rpc-error.ts";

const addressesMax = 1_000;
const topicsMax = 4;
const alternativesMax = 1_000;

const topic = z.union([hash, z.array(hash.nullable()).max(alternativesMax), z.null()], {
  error: "expected a topic (0x and 64 hexadecimal digits), an array of topics, or null",
});

const what = {
  address: z
    .union([address, z.array(address).max(addressesMax)], { error: "expected an address or an array of addresses" })
    .nullish(),
  topics: z.array(topic).max(topicsMax, "exceed max topics").nullish(),
};

/** Filter of a log subscription; block ranges are meaningless there and ignored, as in geth. */
export const logFilter = z.object(what);
export type LogFilter = z.output<typeof logFilter>;

/** Filter of `eth_getLogs`. */
export const rangedLogFilter = z.looseObject({
  ...what,
  fromBlock: blockNumberOrTag.nullish(),
  toBlock: blockNumberOrTag.nullish(),
  blockHash: hash.nullish(),
});
export type RangedLogFilter = z.output<typeof rangedLogFilter>;

/**
 * Rejects invalid ranges, with geth's texts. The gateway limits the length of a range.
 *
 * @throws {RpcError} -32602 or, for `pending`, -32000.
 */
export function checkRange({ fromBlock, toBlock, blockHash }: RangedLogFilter): void {
  if (fromBlock === "pending" || toBlock === "pending") {
    throw new RpcError(errorCode.server, "pending logs are not supported");
  }
  if (typeof blockHash === "string" && (typeof fromBlock === "string" || typeof toBlock === "string")) {
    const message = "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other";
    throw new RpcError(errorCode.invalidParams, message);
  }
  if (isNumber(fromBlock) && isNumber(toBlock) && BigInt(fromBlock) > BigInt(toBlock)) {
    throw new RpcError(errorCode.invalidParams, "invalid block range params");
  }
}

function isNumber(block: RangedLogFilter["fromBlock"]): block is `0x${string}` {
  return typeof block === "string" && block.startsWith("0x");
}
