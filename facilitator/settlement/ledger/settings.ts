import { z } from "zod";
import { fixed } from "#daemon/settings/fixed.ts";
import { section } from "#daemon/settings/section.ts";
import { filePath } from "#daemon/settings/types.ts";
import { postgresSettings } from "#daemon/sql/postgres-settings.ts";

export const ledger = section({
  path: filePath
    .optional()
    .describe(
      "SQLite file for settlements and their signed transactions; one process at a time may use it, or two during a hot restart. Default, without ledger.url: .gatehouse/facilitator.sqlite",
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
