import { invalidParams } from "../envelope/rpc-error.ts";
import { hex, invertedRange, pieces, rangeTooLarge, readBound, resolveRange, type KnownHead } from "./block-range.ts";
import {
  asBinary,
  ownFields,
  parseParams,
  pass,
  refuse,
  type CheckedParams,
  type RangeLimit,
} from "./checked-params.ts";

/** Most addresses in one list of a filter. */
const filterAddresses = 1_000;

const address = /^0x[0-9a-fA-F]{40}$/;

/**
 * Checks the parameters of `trace_filter` (specification, Trace filter and Limits). A missing `fromBlock` means block 0, as
 * nodes take it, a missing `toBlock` latest. Like the log filter, it goes to the node in the form that was checked.
 */
export function checkTraceParams(params: string, head: KnownHead | undefined, limit: RangeLimit): CheckedParams {
  const [given, ...rest] = parseParams(params);
  const fields = ownFields(given);
  if (fields === undefined || rest.length > 0) return refuse(invalidParams("expected one trace filter object"));
  const from = fields.get("fromBlock") ?? "earliest";
  const to = fields.get("toBlock") ?? "latest";
  const fromBound = readBound(from);
  const toBound = readBound(to);
  if (fromBound === undefined || toBound === undefined) {
    const name = fromBound === undefined ? "fromBlock" : "toBlock";
    return refuse(invalidParams(`invalid ${name}: expected a hexadecimal number, latest, earliest, safe or finalized`));
  }
  const selection = readSelection(fields);
  if (typeof selection === "string") return refuse(invalidParams(selection));
  if (head === undefined && (typeof fromBound === "string" || typeof toBound === "string")) {
    return refuse({ code: -32_603, message: "the head of the chain is not known yet; try again later" });
  }
  const known = head ?? { latest: 0n, finalized: undefined };
  const range = resolveRange(fromBound, toBound, known);
  if (range.to < range.from && typeof fromBound === "bigint" && typeof toBound === "bigint") {
    return refuse(invertedRange);
  }
  const blocks = range.to - range.from + 1n;
  if (blocks <= BigInt(limit.capBlocks)) {
    // Numbers for nodes that take no tags here, and for those that leave a bound out differently.
    return pass([{ fromBlock: numbered(from, range.from), toBlock: numbered(to, range.to), ...selection }]);
  }
  const paged = selection["count"] !== undefined || selection["after"] !== undefined;
  if (paged || blocks > BigInt(limit.splitBlocks)) {
    return refuse(rangeTooLarge(range, limit.capBlocks, limit.errorCode), "blockRange");
  }
  return {
    kind: "split",
    pieces: pieces(range, limit.capBlocks).map((piece) =>
      asBinary(JSON.stringify([{ fromBlock: hex(piece.from), toBlock: hex(piece.to), ...selection }])),
    ),
  };
}

function numbered(written: unknown, resolved: bigint): unknown {
  return written === "earliest" ? hex(resolved) : written;
}

/** Addresses and paging of a filter, or what is wrong with them. */
function readSelection(fields: ReadonlyMap<string, unknown>): Readonly<Record<string, unknown>> | string {
  const selection: Record<string, unknown> = {};
  for (const name of ["fromAddress", "toAddress"]) {
    const value = fields.get(name) ?? undefined;
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
    const value = fields.get(name) ?? undefined;
    if (value === undefined) continue;
    const isNumber = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
    if (!isNumber && !(typeof value === "string" && /^0x[0-9a-fA-F]{1,16}$/.test(value))) {
      return `invalid ${name}: expected a whole number, 0 or more`;
    }
    selection[name] = value;
  }
  return selection;
}
