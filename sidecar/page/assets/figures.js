import { element, find, showList } from "./elements.js";
import { timeElement } from "./times.js";

const shown = (value) => value.toLocaleString("en");
const brief = (value) => value.toLocaleString("en", { maximumSignificantDigits: value < 10 ? 2 : 3 });
const percent = (ratio) => `${brief(ratio * 100)} %`;

/** A fast node's answer takes less than a millisecond. */
const milliseconds = (ms) => (ms < 1 ? "<1 ms" : `${brief(ms)} ms`);

const failures = {
  Refused: "refused",
  Closed: "closed",
  Unreachable: "unreachable",
  TimedOut: "no answer",
  NotJsonRpc: "not JSON-RPC",
  RpcError: "error",
  TooLarge: "too large",
};

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, count)) / 10)));
  return `${brief(count / 1_024 ** power)} ${units[power]}`;
}

const minutes = (ms) => Math.max(1, Math.round(ms / 60_000));

/** What was paid, as a facilitator counts it. */
function paymentRows({ pending, settled, refused, overMs, balance, balanceDays, old }) {
  const refusals = refused.reduce((total, { count }) => total + count, 0);
  const why = refused.slice(0, 3).map(({ reason, count }) => `${reason} ${shown(count)}`);
  const span = overMs === 0 ? "since now" : `in ${minutes(overMs)} min`;
  return [
    { term: "Payments", value: shown(pending), note: "pending", old },
    { term: "Settled", value: shown(settled), note: span, old },
    { term: "Refused", value: shown(refusals), note: why.length === 0 ? span : why.join(", "), old },
    balance === undefined
      ? undefined
      : {
          term: "Signer",
          value: brief(balance),
          note: balanceDays === undefined ? "for gas" : `for ${brief(balanceDays)} days`,
          bad: balance === 0 || (balanceDays !== undefined && balanceDays < 7),
          old,
        },
  ];
}

/** The strip of figures: what each says now, and how old it is where that counts. */
function rowsOf({ lastBlock, rpc, gateway, restarts, disk, payments }) {
  return [
    lastBlock && { term: "Last block", value: shown(lastBlock.height), at: lastBlock.at, old: lastBlock.old },
    rpc &&
      (rpc.failure === undefined
        ? { term: "RPC latency", value: milliseconds(rpc.latencyMs), at: rpc.at, old: rpc.old }
        : { term: "RPC", value: failures[rpc.failure] ?? rpc.failure, bad: true }),
    gateway && { term: "Requests", value: brief(gateway.requestsPerSecond), note: "per second", old: gateway.old },
    gateway && {
      term: "Errors",
      value: percent(gateway.errorRatio),
      note: gateway.limitedPerSecond > 0 ? `${brief(gateway.limitedPerSecond)}/s limited` : "of requests",
      bad: gateway.errorRatio >= 0.01,
      old: gateway.old,
    },
    restarts && {
      term: "Restarts left",
      value: String(restarts.left),
      note: `of ${restarts.perHour} per hour`,
      bad: restarts.left === 0 && restarts.perHour > 0,
    },
    disk && {
      term: "Disk free",
      value: percent(disk.freeRatio),
      note: bytes(disk.freeBytes),
      old: disk.old,
      bad: disk.bad,
    },
    ...(payments === undefined ? [] : paymentRows(payments)),
  ].filter((row) => row !== undefined);
}

/** Shows figures in a list; all of them are old where `live` is false. */
export function listFigures(list, figures, { live }) {
  showList(
    list,
    rowsOf(figures).map((row) => Object.assign(row, { old: row.old === true || !live })),
    ({ term, value, note, at, old, bad }) =>
      element(
        "div",
        { className: [old ? "old" : "", bad && !old ? "bad" : ""].join(" ").trim() },
        element("dt", {}, term, ...(old ? [element("span", { className: "mark" }, "old")] : [])),
        element(
          "dd",
          {},
          element("b", {}, value),
          " ",
          ...(note === undefined ? [] : [element("small", {}, note)]),
          ...(at === undefined ? [] : [element("small", {}, timeElement(at, "age"))]),
        ),
      ),
  );
}

/** Shows the figures; all of them are old when the sidecar does not answer (`live` false). */
export function showFigures(figures, { live, isDiskLow }) {
  const { disk } = figures;
  const judged = { ...figures, ...(disk === undefined ? {} : { disk: { ...disk, bad: isDiskLow } }) };
  listFigures(find("#figures"), judged, { live });
}
