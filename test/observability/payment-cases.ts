import { buildPhases, buildSample, target, type AlertCase, type InputSeries } from "./alert-case.ts";

const network = "eip155:1672";
const who = `${target.instance} on ${network}`;
const ofNetwork = { ...target, network };
const signer = `0x${"51".repeat(20)}`;
const step = { stepMinutes: 4, hours: (count: number) => count * 15 };
const balance = (values: string): InputSeries =>
  buildSample("gatehouse_facilitator_signer_balance_native", { signer, network }, values);
const usable = (values: string): InputSeries =>
  buildSample("gatehouse_facilitator_signer_usable", { signer, network }, values);
const settler = (values: string): InputSeries => buildSample("gatehouse_facilitator_leader", { network }, values);
const verified = (outcome: string, values: string): InputSeries =>
  buildSample("gatehouse_facilitator_verify_duration_seconds_count", { outcome, network }, values);
const settled = (values: string): InputSeries =>
  buildSample("gatehouse_facilitator_settle_duration_seconds_count", { outcome: "settled", network }, values);
const oldest = (values: string) => buildSample("gatehouse_facilitator_oldest_settlement_seconds", { network }, values);
const pending = (values: string): InputSeries =>
  buildSample("gatehouse_facilitator_settlements_pending", { network }, values);

const mismatches = (values: string): InputSeries =>
  buildSample("gatehouse_facilitator_ledger_mismatches", { network }, values);
const compared = (values: string): InputSeries =>
  buildSample("gatehouse_facilitator_ledger_reconciled_timestamp_seconds", { network }, values);

/** A series of another replica of the same facilitator. */
const ofOther = (name: string, values: string): InputSeries => [
  `${name}{job="${target.job}",instance="other:9100",network="${network}"}`,
  values,
];
const job = { job: target.job, network };

/** Samples of a balance that could not be queried. */
const unknown = (count: number) => Array.from({ length: count }, () => "NaN").join(" ");

export const paymentCases: readonly AlertCase[] = [
  {
    alert: "GatehouseSignerLow",
    severity: "warning",
    stepMinutes: step.stepMinutes,
    // The balance falls from 12 by 2.4 per day; in the 60th hour, someone sends 94.
    series: [
      balance(`12-${0.1 / 15}x${step.hours(60)} 100-${0.1 / 15}x${step.hours(20)}`),
      settler(`1x${step.hours(80)}`),
    ],
    silentAt: [60],
    firesAt: 50 * 60,
    resolvedAt: 61 * 60,
    labels: { ...ofNetwork, signer },
    summary: `The signer ${signer} of the facilitator ${who} can pay gas for 2.9 more days at the rate of the last day.`,
    nearMiss: {
      // The balance is unknown at first, and then nothing is spent.
      series: [balance(`${unknown(15)} 1x${step.hours(60)}`), settler(`1x${step.hours(60)}`)],
      silentAt: [60, 30 * 60, 50 * 60],
    },
  },
  {
    alert: "GatehouseSignerLow",
    severity: "warning",
    of: "one unusable signer among several",
    series: [usable(buildPhases("1", "0", { from: 10, to: 100, end: 130 })), settler("1x130")],
    silentAt: [60],
    firesAt: 72,
    resolvedAt: 101,
    labels: { ...ofNetwork, signer },
    summary: `The signer ${signer} of the facilitator ${who} can pay gas for 0.0 more days at the rate of the last day.`,
    nearMiss: {
      series: [usable("1x130"), settler("1x130")],
      silentAt: [72, 120],
    },
  },
  {
    alert: "GatehouseSignerLow",
    severity: "critical",
    series: [balance("0.001x90"), usable(buildPhases("1", "0"))],
    silentAt: [9, 11],
    firesAt: 13,
    labels: { ...ofNetwork, signer },
    summary: `The signer ${signer} of the facilitator ${who} has a balance of 0.001 and can't settle.`,
    nearMiss: { series: [balance(unknown(90)), usable("0x90")], silentAt: [13, 40] },
  },
  {
    alert: "GatehouseSettlementStuck",
    series: [pending(buildPhases("0", "4")), settled("0+5x9 50x49 50+5x30")],
    silentAt: [9, 20],
    firesAt: 30,
    resolvedAt: 63,
    labels: job,
    summary: `Settlements at the facilitator ${target.job} on ${network} hang: one has been in flight for ten minutes, or none completes.`,
    // A busy facilitator always has some settlements in flight.
    nearMiss: { series: [pending("9x90"), settled("0+5x90")], silentAt: [30, 60] },
  },
  {
    alert: "GatehouseSettlementStuck",
    of: "replicas settle in turn",
    series: [
      pending("0x9 4x8 0x8 4x8 0x8 4x8 0x39"),
      ofOther("gatehouse_facilitator_settlements_pending", "0x17 0 4x7 0 0x8 4x8 0x48"),
      settled("0x54 5+5x36"),
    ],
    silentAt: [9, 20],
    firesAt: 30,
    resolvedAt: 75,
    labels: job,
    summary: `Settlements at the facilitator ${target.job} on ${network} hang: one has been in flight for ten minutes, or none completes.`,
    // Settlements follow one after the other, with pauses.
    nearMiss: {
      series: [pending(Array.from({ length: 9 }, () => "4x5 0x3").join(" ")), settled("0x90")],
      silentAt: [30, 60],
    },
  },
  {
    alert: "GatehouseSettlementStuck",
    of: "others settle at the same time",
    // The oldest settlement ages from the 10th minute on, while others complete.
    series: [oldest("5x9 0+60x49 5x30")],
    silentAt: [9, 20],
    firesAt: 27,
    resolvedAt: 63,
    labels: job,
    summary: `Settlements at the facilitator ${target.job} on ${network} hang: one has been in flight for ten minutes, or none completes.`,
    // Each settlement takes nine minutes, and there is always one.
    nearMiss: { series: [oldest(Array.from({ length: 9 }, () => "0+60x9").join(" "))], silentAt: [23, 40, 60, 80] },
  },
  {
    alert: "GatehouseSettlementStuck",
    of: "an old payment during a failover",
    // The settling replica stops in the 25th minute, and the other one continues the ledger's settlement in the 27th.
    series: [
      oldest("5x9 0+60x15 0x64"),
      ofOther("gatehouse_facilitator_oldest_settlement_seconds", "0x26 1020+60x33 5x29"),
    ],
    silentAt: [9, 20],
    firesAt: 32,
    resolvedAt: 63,
    labels: job,
    summary: `Settlements at the facilitator ${target.job} on ${network} hang: one has been in flight for ten minutes, or none completes.`,
    nearMiss: {
      series: [oldest("0+60x9 0x80"), ofOther("gatehouse_facilitator_oldest_settlement_seconds", "0x9 0+60x9 0x70")],
      silentAt: [15, 23, 40],
    },
  },
  {
    alert: "GatehouseLedgerMismatch",
    series: [mismatches(buildPhases("0", "2"))],
    silentAt: [9, 14],
    firesAt: 16,
    labels: ofNetwork,
    summary: `2 payments that are settled in the ledger of the facilitator ${target.instance} are not on the chain ${network}.`,
    // A replica that does not settle compares nothing. One replica's check queried a lagging node; another replica's later checks failed.
    nearMiss: { series: [mismatches(`${unknown(20)} 0x9 1x3 0x9 1 ${unknown(40)}`)], silentAt: [10, 31, 40, 51] },
  },
  {
    alert: "GatehouseLedgerNotReconciled",
    // From the 10th minute to the 59th, every check fails.
    series: [settler("1x90"), compared("0+60x9 540x49 3600+60x30")],
    silentAt: [9, 23],
    firesAt: 26,
    labels: ofNetwork,
    summary: `The facilitator ${target.instance} settles but has not compared its ledger with the chain ${network} for five minutes (1 settler).`,
    // The replica does not settle at first; its first check is a minute after it starts to.
    nearMiss: {
      series: [settler("0x29 1x60"), compared(`${unknown(32)} 1920+60x58`)],
      silentAt: [20, 31, 45, 80],
    },
  },
  {
    alert: "GatehouseLedgerNotReconciled",
    of: "no successful comparison",
    series: [settler("1x90"), compared(`${unknown(60)} 3600+60x30`)],
    silentAt: [9],
    firesAt: 11,
    labels: ofNetwork,
    summary: `The facilitator ${target.instance} settles but has not compared its ledger with the chain ${network} for five minutes (1 settler).`,
    nearMiss: { series: [settler("1x90"), compared("0+60x90")], silentAt: [30, 80] },
  },
  {
    alert: "GatehouseRejectionsUnusual",
    series: [
      verified("valid", "0+10x1439"),
      verified("invalid_exact_evm_payload_signature", "0+0.1x999 100+10x59 700+0.1x379"),
    ],
    silentAt: [900, 999],
    firesAt: 1_030,
    resolvedAt: 1_090,
    labels: { job: target.job, outcome: "invalid_exact_evm_payload_signature" },
    summary: `50% of payments at ${target.job} are rejected as invalid_exact_evm_payload_signature, three times the usual share.`,
    nearMiss: {
      // A tenth of the payments are always rejected for one reason; nine of nine are rejected for another, but these are too few to
      // evaluate.
      series: [
        verified("valid", "0+9x600"),
        verified("invalid_exact_evm_insufficient_balance", "0+1x600"),
        // Sellers that restart check their terms.
        verified("terms_check", "0x280 0+4x319"),
      ],
      silentAt: [300, 590],
    },
  },
  {
    alert: "GatehouseFacilitatorNoLeader",
    series: [settler(buildPhases("1", "0"))],
    silentAt: [9, 12],
    firesAt: 14,
    labels: job,
    summary: `No replica of the facilitator ${target.job} settles on ${network} (0 leaders).`,
    nearMiss: {
      series: [settler("0x90"), ofOther("gatehouse_facilitator_leader", "1x90")],
      silentAt: [14, 60],
    },
  },
];
