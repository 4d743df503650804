import { element, find, showList } from "./elements.js";
import { timeElement } from "./times.js";

const shown = (value) => value.toLocaleString("en");
const brief = (value) => value.toLocaleString("en", { maximumSignificantDigits: value < 10 ? 2 : 3 });
const percent = (ratio) => `${brief(ratio * 100)} %`;

/** A fast node responds in less than a millisecond. */
const milliseconds = (ms) => (ms < 1 ? "<1 ms" : `${brief(ms)} ms`);

const failures = {
  ConnectionRefused: "rejected",
  ConnectionClosed: "closed",
  Unreachable: "unreachable",
  TimedOut: "no answer",
  NotJsonRpc: "not JSON-RPC",
  RpcError: "error",
  ResponseTooLarge: "too large",
};

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, count)) / 10)));
  return `${brief(count / 1_024 ** power)} ${units[power]}`;
}

const minutes = (ms) => Math.max(1, Math.round(ms / 60_000));

/** Formats how long a balance will last; anything over a year is irrelevant for planning. */
const lasts = (days) =>
  days > 365 ? "for over a year" : `for ${brief(days)} ${days >= 1 && days < 2 ? "day" : "days"}`;

function paymentRows({ service, pending, settled, unpaid, rejected, overMs, balances, old }) {
  const isSeller = service === "resource-server";
  const rejections = rejected.reduce((total, { count }) => total + count, 0);
  const why = rejected.slice(0, 3).map(({ reason, count }) => `${reason} ${shown(count)}`);
  const span = `in ${minutes(overMs)} min`;
  return [
    { term: isSeller ? "Sales" : "Payments", value: shown(pending), note: isSeller ? "in flight" : "pending", old },
    { term: isSeller ? "Sold" : "Settled", value: shown(settled), note: span, old },
    isSeller ? { term: "Unpaid", value: shown(unpaid), note: "answered 402", old } : undefined,
    { term: "Rejected", value: shown(rejections), note: why.length === 0 ? span : why.join(", "), old },
    ...gasRows(balances).map((row) => Object.assign(row, { old })),
  ];
}

function gasRows(balances) {
  return balances.map(({ network, signer, balance, days }) => ({
    term: balances.some((other) => other.signer !== signer) ? `Gas of ${signer.slice(0, 8)}…` : "Signer's gas",
    value: brief(balance),
    note: [`chain ${network.replace("eip155:", "")}'s currency`, ...(days === undefined ? [] : [lasts(days)])].join(
      ", ",
    ),
    bad: balance === 0 || (days !== undefined && days < 7),
  }));
}

/** Returns the rows of the figures strip: each figure's value and, where relevant, its age. */
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

/** Shows figures in a list; if `live` is false, all of them are marked as old. */
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

/** Shows the figures; while the sidecar does not respond (`live` false), all of them are marked as old. */
export function showFigures(figures, { live, isDiskLow }) {
  const { disk } = figures;
  const judged = { ...figures, ...(disk === undefined ? {} : { disk: { ...disk, bad: isDiskLow } }) };
  listFigures(find("#figures"), judged, { live });
}
