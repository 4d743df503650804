import { z } from "zod";
import { fixed, section } from "#daemon/settings/section.ts";
import { filePath, milliseconds, positiveInteger } from "#daemon/settings/types.ts";
import { postgresSettings } from "#daemon/sql/postgres-settings.ts";

export const settlement = section({
  receiptTimeoutMs: z
    .int()
    .min(100)
    .max(85_000)
    .default(45_000)
    .describe("How long /settle waits for the receipt before it returns settlement_pending; clients give up after 90 s")
    .meta({ expected: "milliseconds, a whole number from 100 to 85000" }),
  /** How long a shutdown waits for receipts before returning settlement_pending. */
  drainMs: fixed(3_000),
  pollIntervalMs: z
    .int()
    .min(10)
    .max(60_000)
    .default(100)
    .describe("Interval between chain polls while transactions are pending")
    .meta({ expected: "milliseconds, a whole number from 10 to 60000" }),
  confirmations: z
    .int()
    .min(1)
    .max(1_000)
    .default(1)
    .describe("Blocks, including the transaction's own, until a settlement is final")
    .meta({ expected: "a whole number from 1 to 1000" }),
  gasLimit: z
    .int()
    .min(60_000)
    .max(5_000_000)
    .default(200_000)
    .describe("Max gas per settlement; payments that need more are rejected")
    .meta({ expected: "units of gas, a whole number from 60000 to 5000000" }),
  gasMarginPercent: z
    .int()
    .min(0)
    .max(400)
    .default(20)
    .describe("Margin on top of the node's gas estimate for a settlement; the total never exceeds gasLimit")
    .meta({ expected: "per cent, a whole number from 0 to 400" }),
  maxFeePerGasGwei: z
    .number()
    .positive()
    .max(1_000_000)
    .default(500)
    .describe("Max fee the signer pays per unit of gas; settlements get 500 while the chain charges more")
    .meta({ expected: "gwei, a number above 0 and at most 1000000" }),
  bumpAfterMs: milliseconds
    .default(15_000)
    .describe("Age after which a pending transaction is replaced by one with a higher fee"),
  /** Fee increase for a replacement. */
  bumpPercent: fixed(25),
  inFlightMax: positiveInteger
    .max(10_000)
    .default(1_000)
    .describe("Max settlements in flight; further requests get 503"),
  batchMax: positiveInteger
    .max(500)
    .default(64)
    .describe(
      "Max settlements journaled and sent together, in one transaction if the chain has Multicall3; 1 sends each alone",
    ),
});

export type SettlementSettings = Readonly<z.output<typeof settlement>>;

const { confirmations, gasLimit, gasMarginPercent, maxFeePerGasGwei, bumpAfterMs } = settlement.unwrap().shape;

export const networkSettlement = z.strictObject({
  confirmations: confirmations.unwrap().exactOptional(),
  gasLimit: gasLimit.unwrap().exactOptional(),
  gasMarginPercent: gasMarginPercent.unwrap().exactOptional(),
  maxFeePerGasGwei: maxFeePerGasGwei.unwrap().exactOptional(),
  bumpAfterMs: bumpAfterMs.unwrap().exactOptional(),
});

export const ledger = section({
  path: filePath
    .optional()
    .describe(
      "SQLite file for settlements and their signed transactions; only one process may use it, or two during a hot restart. Default, without ledger.url: .gatehouse/facilitator.sqlite",
    ),
  ...postgresSettings,
  retentionDays: z
    .int()
    .min(1)
    .max(36_500)
    .default(90)
    .describe("Retention of finished settlements in the ledger")
    .meta({ expected: "days, a whole number from 1 to 36500" }),
  /**
   * Interval between comparisons of the last hour's settlements with their on-chain receipts. GatehouseLedgerMismatch waits for five
   * minutes, which must include several consistent checks.
   */
  compareIntervalMs: fixed(60_000),
});
