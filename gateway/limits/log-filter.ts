import { invalidParams, rpcErrors } from "../errors.ts";
import {
  rangeAboveCap,
  readBound,
  resolveRange,
  formatQuantity,
  splitRange,
  type BlockRange,
} from "../chain/block-range.ts";
import type { ChainHead } from "../chain/head.ts";
import { splitElements } from "../json-rpc/read-object.ts";
import { asBinary } from "../json-rpc/read-answer.ts";
import {
  readFields,
  parseFlatValue,
  maxFields,
  pass,
  refuse,
  type CheckedParams,
  type RangeLimit,
} from "./checked-params.ts";

/** Max values in one topic position, and max topic positions (geth's limits). */
const topicValues = 1_000;
const topicPositions = 4;
/** Max addresses in one filter. */
const filterAddresses = 1_000;

const address = /^0x[0-9a-fA-F]{40}$/;
const topic = /^0x[0-9a-fA-F]{64}$/;

/** A log filter without its range, in the normalised form sent to the node. */
type Selection = Readonly<{ address?: unknown; topics?: unknown }>;

/**
 * Checks the parameters of `eth_getLogs` (specification, Limits; EIP-234 for `blockHash`). Omitted bounds default to the latest block. The
 * filter sent to the node is rebuilt from the checked fields, so that no alternative spelling of a field can widen it.
 */
export function checkLogParams(params: string, head: ChainHead | undefined, limit: RangeLimit): CheckedParams {
  const [given = "", ...rest] = splitElements(params);
  const fields = readFields(given);
  if (fields === undefined || rest.length > 0) {
    return refuse(invalidParams(`expected one log filter object, of at most ${maxFields} fields`));
  }
  const selection = readSelection(fields);
  if (typeof selection === "string") return refuse(invalidParams(selection));
  const blockHash = parseFlatValue(fields.get("blockHash"));
  const from = parseFlatValue(fields.get("fromBlock"));
  const to = parseFlatValue(fields.get("toBlock"));
  if (blockHash !== undefined) {
    if (from !== undefined || to !== undefined) {
      return refuse(invalidParams("cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other"));
    }
    if (typeof blockHash !== "string" || !topic.test(blockHash)) {
      return refuse(invalidParams("invalid blockHash: expected 0x and 64 hexadecimal digits"));
    }
    return pass([{ blockHash, ...selection }]);
  }
  if (from === "pending" || to === "pending") return refuse(rpcErrors.pendingLogs);
  const fromBound = readBound(from ?? "latest");
  const toBound = readBound(to ?? "latest");
  if (fromBound === undefined || toBound === undefined) {
    const name = fromBound === undefined ? "fromBlock" : "toBlock";
    return refuse(invalidParams(`invalid ${name}: expected a hexadecimal number, latest, earliest, safe or finalized`));
  }
  if (fromBound === toBound) return pass([{ fromBlock: from ?? "latest", toBlock: to ?? "latest", ...selection }]);
  if (head === undefined && (typeof fromBound === "string" || typeof toBound === "string")) {
    return refuse(rpcErrors.headUnknown);
  }
  const known = head ?? { latest: 0n, finalized: undefined };
  const range = resolveRange(fromBound, toBound, known);
  if (range.to < range.from) {
    // The node may be ahead of the gateway's head: a range is certain to be inverted only if both bounds are explicit numbers.
    if (typeof fromBound === "bigint" && typeof toBound === "bigint") return refuse(rpcErrors.invertedRange);
    return pass([{ fromBlock: from ?? "latest", toBlock: to ?? "latest", ...selection }]);
  }
  const blocks = range.to - range.from + 1n;
  if (blocks <= BigInt(limit.capBlocks)) {
    return pass([{ fromBlock: from ?? "latest", toBlock: to ?? "latest", ...selection }]);
  }
  if (blocks > BigInt(limit.splitBlocks)) return refuse(rangeAboveCap(range, limit.capBlocks), "blockRange");
  return splitFilter(range, limit.capBlocks, selection);
}

/** Reads the address and topics of a filter, or describes the error in them. Also used for the filter of a `logs` subscription. */
export function readSelection(fields: ReadonlyMap<string, string>): Selection | string {
  const addresses = parseFlatValue(fields.get("address"));
  const topics = parseFlatValue(fields.get("topics"));
  if (addresses !== undefined) {
    const list = Array.isArray(addresses) ? addresses : [addresses];
    if (list.length > filterAddresses) return `invalid address: more than ${filterAddresses} addresses`;
    if (!list.every((item) => typeof item === "string" && address.test(item))) {
      return "invalid address: expected 0x and 40 hexadecimal digits, or an array of such";
    }
  }
  if (topics !== undefined && !isTopicList(topics)) {
    return `invalid topics: expected at most ${topicPositions}, each null, a 32-byte hash or an array of at most ${topicValues}`;
  }
  return {
    ...(addresses === undefined ? {} : { address: addresses }),
    ...(topics === undefined ? {} : { topics }),
  };
}

function isTopicList(topics: unknown): boolean {
  if (!Array.isArray(topics) || topics.length > topicPositions) return false;
  return topics.every((position: unknown) => {
    if (position === null) return true;
    const values: readonly unknown[] = Array.isArray(position) ? position : [position];
    return (
      values.length <= topicValues &&
      values.every((value) => value === null || (typeof value === "string" && topic.test(value)))
    );
  });
}

/** Splits a filter into pieces of at most `capBlocks` blocks. All pieces have the same selection, which is serialised once. */
export function splitFilter(range: BlockRange, capBlocks: number, selection: object): CheckedParams {
  const fields = asBinary(JSON.stringify(selection)).slice(1, -1);
  const rest = fields === "" ? "" : `,${fields}`;
  return {
    kind: "split",
    pieces: splitRange(range, capBlocks).map(
      ({ from, to }) => `[{"fromBlock":"${formatQuantity(from)}","toBlock":"${formatQuantity(to)}"${rest}}]`,
    ),
  };
}
