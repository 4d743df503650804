import { invalidParams, rpcErrors } from "../errors.ts";
import { splitElements } from "../json-rpc/read-object.ts";
import { formatQuantity, rangeAboveCap, readBound, resolveRange } from "../chain/block-range.ts";
import type { ChainHead } from "../chain/head.ts";
import {
  readFields,
  parseFlatValue,
  maxFields,
  pass,
  refuse,
  findUnknownField,
  type CheckedParams,
  type RangeLimit,
} from "./checked-params.ts";
import { splitFilter } from "./log-filter.ts";

/**
 * Fields of a filter (specification, Trace filter), including the mode, which other nodes accept and their clients send. Without a mode,
 * the conditions are combined by union.
 */
const filterFields: ReadonlySet<string> = new Set([
  "fromBlock",
  "toBlock",
  "fromAddress",
  "toAddress",
  "count",
  "after",
  "mode",
]);

/** Max addresses in one list in a filter. */
const filterAddresses = 1_000;

const address = /^0x[0-9a-fA-F]{40}$/;

/**
 * Checks the parameters of `trace_filter` (specification, "Trace filter" and "Limits"). As in nodes, a missing `fromBlock` means block 0 and a
 * missing `toBlock` means latest. Like the log filter, the filter is sent to the node in its checked form, with bounds as hexadecimal
 * numbers: the specification allows no other form here.
 */
export function checkTraceParams(params: string, head: ChainHead | undefined, limit: RangeLimit): CheckedParams {
  const [given = "", ...rest] = splitElements(params);
  const fields = readFields(given);
  if (fields === undefined || rest.length > 0) {
    return refuse(invalidParams(`expected one trace filter object, of at most ${maxFields} fields`));
  }
  const unknown = findUnknownField(fields, filterFields);
  if (unknown !== undefined) {
    const known = [...filterFields].join(", ");
    return refuse(invalidParams(`unknown field ${unknown} in the trace filter: expected ${known}`));
  }
  const from = parseFlatValue(fields.get("fromBlock"));
  const to = parseFlatValue(fields.get("toBlock"));
  const fromBound = readBound(from ?? "earliest");
  const toBound = readBound(to ?? "latest");
  if (fromBound === undefined || toBound === undefined) {
    const name = fromBound === undefined ? "fromBlock" : "toBlock";
    return refuse(invalidParams(`invalid ${name}: expected a hexadecimal number, latest, earliest, safe or finalized`));
  }
  const selection = readSelection(fields);
  if (typeof selection === "string") return refuse(invalidParams(selection));
  if (head === undefined && (typeof fromBound === "string" || typeof toBound === "string")) {
    return refuse(rpcErrors.headUnknown);
  }
  const known = head ?? { latest: 0n, finalized: undefined };
  const range = resolveRange(fromBound, toBound, known);
  if (range.to < range.from && typeof fromBound === "bigint" && typeof toBound === "bigint") {
    return refuse(rpcErrors.invertedRange);
  }
  const blocks = range.to - range.from + 1n;
  if (blocks <= BigInt(limit.capBlocks)) {
    const bounds = { fromBlock: asNumber(from ?? "earliest", range.from, known) };
    // The node may be ahead of the gateway's head: the node's latest block may still be in the range.
    const toBlock = range.to < range.from ? to : asNumber(to ?? "latest", range.to, known);
    return pass([{ ...bounds, ...(toBlock === undefined ? {} : { toBlock }), ...selection }]);
  }
  const paged = selection["count"] !== undefined || selection["after"] !== undefined;
  if (paged || blocks > BigInt(limit.splitBlocks)) {
    return refuse(rangeAboveCap(range, limit.capBlocks), "blockRange");
  }
  return splitFilter(range, limit.capBlocks, selection);
}

/** Returns a bound as a hexadecimal number; a tag that only the node can resolve is returned unchanged. */
function asNumber(written: unknown, resolved: bigint, { finalized }: ChainHead): unknown {
  return written === "safe" || (written === "finalized" && finalized === undefined)
    ? written
    : formatQuantity(resolved);
}

/** Reads the addresses and paging of a filter, or describes the error in them. */
function readSelection(fields: ReadonlyMap<string, string>): Readonly<Record<string, unknown>> | string {
  const selection: Record<string, unknown> = {};
  for (const name of ["fromAddress", "toAddress"]) {
    const value = parseFlatValue(fields.get(name));
    if (value === undefined) continue;
    if (!Array.isArray(value) || value.length > filterAddresses) {
      return `invalid ${name}: expected an array of at most ${filterAddresses} addresses`;
    }
    if (!value.every((item) => typeof item === "string" && address.test(item))) {
      return `invalid ${name}: expected addresses of 0x and 40 hexadecimal digits`;
    }
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
