import { formatQuantity, rangeAboveCap, readBound, resolveRange, splitRange } from "../chain/block-range.ts";
import type { BlockRange } from "../chain/block-range.ts";
import type { ChainHead } from "../chain/chain-head.ts";
import { invalidParams, rpcErrors } from "../errors.ts";
import { asBinary } from "../json-rpc/read-answer.ts";
import { splitElements } from "../json-rpc/read-object.ts";
import {
  findUnknownField,
  maxFields,
  parseFlatValue,
  accept,
  readFields,
  reject,
  type CheckedParams,
  type RangeLimit,
  type Rejection,
} from "./checked-params.ts";

/** Max values in one topic position, and max topic positions (geth's limits). */
const topicValues = 1_000;
const topicPositions = 4;
const filterAddresses = 1_000;

const address = /^0x[0-9a-fA-F]{40}$/;
const topic = /^0x[0-9a-fA-F]{64}$/;

/** A filter without its range, in the form sent to the node. */
type Selection = Readonly<Record<string, unknown>>;

/**
 * Checks the parameters of `eth_getLogs` (specification, Limits; EIP-234 for `blockHash`). Omitted bounds default to the latest block. The
 * filter sent to the node is rebuilt from the checked fields, so that no alternative spelling of a field can widen it.
 */
export function checkLogParams(params: string, head: ChainHead | undefined, limit: RangeLimit): CheckedParams {
  const fields = readFilter(params);
  if (fields === undefined) {
    return reject(invalidParams(`expected one log filter object, of at most ${maxFields} fields`));
  }
  const selection = readSelection(fields);
  if (typeof selection === "string") return reject(invalidParams(selection));
  const blockHash = parseFlatValue(fields.get("blockHash"));
  const from = parseFlatValue(fields.get("fromBlock"));
  const to = parseFlatValue(fields.get("toBlock"));
  if (blockHash !== undefined) {
    if (from !== undefined || to !== undefined) {
      return reject(invalidParams("cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other"));
    }
    if (typeof blockHash !== "string" || !topic.test(blockHash)) {
      return reject(invalidParams("invalid blockHash: expected 0x and 64 hexadecimal digits"));
    }
    return accept([{ blockHash, ...selection }]);
  }
  if (from === "pending" || to === "pending") return reject(rpcErrors.pendingLogs);
  const bounds = { fromBlock: from ?? "latest", toBlock: to ?? "latest" };
  const isOneBlock = bounds.fromBlock === bounds.toBlock && readBound(bounds.fromBlock) !== undefined;
  const range = isOneBlock ? undefined : readRange(bounds.fromBlock, bounds.toBlock, head);
  if (range !== undefined && "kind" in range) return range;
  const rejection = range && checkCap(range, limit, selection);
  return rejection ?? accept([{ ...bounds, ...selection }]);
}

/** Reads the address and topics of a filter, or describes the error in them. Also used for the filter of a `logs` subscription. */
export function readSelection(fields: ReadonlyMap<string, string>): Selection | string {
  const addresses = parseFlatValue(fields.get("address"));
  const topics = parseFlatValue(fields.get("topics"));
  if (addresses !== undefined) {
    const list = Array.isArray(addresses) ? addresses : [addresses];
    if (list.length > filterAddresses) return `invalid address: more than ${filterAddresses} addresses`;
    if (!list.every(isAddress)) return "invalid address: expected 0x and 40 hexadecimal digits, or an array of such";
  }
  if (topics !== undefined && !isTopicList(topics)) {
    return `invalid topics: expected at most ${topicPositions}, each null, a 32-byte hash or an array of at most ${topicValues}`;
  }
  return { ...(addresses === undefined ? {} : { address: addresses }), ...(topics === undefined ? {} : { topics }) };
}

function isAddress(value: unknown): boolean {
  return typeof value === "string" && address.test(value);
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

/**
 * Fields of a trace filter (specification, Trace filter), including the mode, which other nodes accept and their clients send. Without a
 * mode, the conditions are combined by union.
 */
const traceFields = new Set(["fromBlock", "toBlock", "fromAddress", "toAddress", "count", "after", "mode"]);

/**
 * Checks the parameters of `trace_filter` (specification, "Trace filter" and "Limits"). As in nodes, a missing `fromBlock` means block 0 and a
 * missing `toBlock` means latest. Like the log filter, the filter is sent to the node in its checked form, with bounds as hexadecimal
 * numbers: the specification allows no other form here.
 */
export function checkTraceParams(params: string, head: ChainHead | undefined, limit: RangeLimit): CheckedParams {
  const fields = readFilter(params);
  if (fields === undefined) {
    return reject(invalidParams(`expected one trace filter object, of at most ${maxFields} fields`));
  }
  const unknownField = findUnknownField(fields, traceFields);
  if (unknownField !== undefined) {
    const known = [...traceFields].join(", ");
    return reject(invalidParams(`unknown field ${unknownField} in the trace filter: expected ${known}`));
  }
  const from = parseFlatValue(fields.get("fromBlock")) ?? "earliest";
  const to = parseFlatValue(fields.get("toBlock"));
  const range = readRange(from, to ?? "latest", head);
  if ("kind" in range) return range;
  const selection = readTraceSelection(fields);
  if (typeof selection === "string") return reject(invalidParams(selection));
  const isPaged = selection["count"] !== undefined || selection["after"] !== undefined;
  const rejection = checkCap(range, isPaged ? { ...limit, splitBlocks: 0 } : limit, selection);
  if (rejection !== undefined) return rejection;
  // The node may be ahead of the gateway's head: the node's latest block may still be in the range.
  const toBlock = range.to < range.from ? to : resolveBoundAsNumber(to ?? "latest", range.to, head);
  const bounds = {
    fromBlock: resolveBoundAsNumber(from, range.from, head),
    ...(toBlock === undefined ? {} : { toBlock }),
  };
  return accept([{ ...bounds, ...selection }]);
}

/** Returns a bound as a hexadecimal number; a tag that only the node can resolve is returned unchanged. */
function resolveBoundAsNumber(written: unknown, resolved: bigint, head: ChainHead | undefined): unknown {
  const isDecidedByNode = written === "safe" || (written === "finalized" && head?.finalized === undefined);
  return isDecidedByNode ? written : formatQuantity(resolved);
}

/** Reads the addresses and paging of a trace filter, or describes the error in them. */
function readTraceSelection(fields: ReadonlyMap<string, string>): Selection | string {
  const selection: Record<string, unknown> = {};
  for (const name of ["fromAddress", "toAddress"]) {
    const value = parseFlatValue(fields.get(name));
    if (value === undefined) continue;
    if (!Array.isArray(value) || value.length > filterAddresses) {
      return `invalid ${name}: expected an array of at most ${filterAddresses} addresses`;
    }
    if (!value.every(isAddress)) return `invalid ${name}: expected addresses of 0x and 40 hexadecimal digits`;
    selection[name] = value;
  }
  for (const name of ["count", "after"]) {
    const value = parseFlatValue(fields.get(name));
    if (value === undefined) continue;
    const isNumber = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
    if (!isNumber && !(typeof value === "string" && /^0x[0-9a-fA-F]{1,16}$/.test(value))) {
      return `invalid ${name}: expected a whole number, 0 or more`;
    }
    selection[name] = value;
  }
  const mode = parseFlatValue(fields.get("mode"));
  if (mode === "intersection") selection["mode"] = mode;
  else if (mode !== undefined && mode !== "union") return 'invalid mode: expected "union" or "intersection"';
  return selection;
}

/** Reads the fields of a filter, which must be the only parameter. */
function readFilter(params: string): ReadonlyMap<string, string> | undefined {
  const [given = "", ...rest] = splitElements(params);
  return rest.length > 0 ? undefined : readFields(given);
}

/** Resolves the bounds of a filter. A range that is inverted at the gateway's head may be valid for a node that is ahead. */
function readRange(from: unknown, to: unknown, head: ChainHead | undefined): BlockRange | Rejection {
  const [fromBound, toBound] = [readBound(from), readBound(to)];
  if (fromBound === undefined || toBound === undefined) {
    const name = fromBound === undefined ? "fromBlock" : "toBlock";
    return reject(
      invalidParams(
        `invalid ${name}: expected a hexadecimal number of at most 64 bits without leading zeros, latest, earliest, safe or finalized`,
      ),
    );
  }
  const areNumbers = typeof fromBound === "bigint" && typeof toBound === "bigint";
  if (head === undefined && !areNumbers) return reject(rpcErrors.headUnknown);
  const range = resolveRange(fromBound, toBound, head ?? { latest: 0n, finalized: undefined });
  return areNumbers && range.to < range.from ? reject(rpcErrors.invertedRange) : range;
}

/** Splits or rejects a range above the cap; returns undefined if it is within. All pieces have the same selection, serialized once. */
function checkCap(
  range: BlockRange,
  { capBlocks, splitBlocks }: RangeLimit,
  selection: Selection,
): CheckedParams | undefined {
  const blocks = range.to - range.from + 1n;
  if (blocks <= BigInt(capBlocks)) return undefined;
  if (blocks > BigInt(splitBlocks)) return reject(rangeAboveCap(range, capBlocks), "blockRange");
  const fields = asBinary(JSON.stringify(selection)).slice(1, -1);
  const rest = fields === "" ? "" : `,${fields}`;
  const pieces = splitRange(range, capBlocks).map(
    ({ from, to }) => `[{"fromBlock":"${formatQuantity(from)}","toBlock":"${formatQuantity(to)}"${rest}}]`,
  );
  return { kind: "split", pieces };
}
