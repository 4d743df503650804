import { z } from "zod";
import { secret, type Secret } from "../secrets/secret.ts";
import { milliseconds } from "../settings/types.ts";
import { StartupError } from "../process/startup-error.ts";

/** A `postgresql:` URL, which may contain a password. */
const postgresUrl = z
  .url({ protocol: /^postgres(ql)?$/ })
  .meta({ expected: "a URL like postgresql://user:password@host:5432/database" });

/** Settings of the PostgreSQL server shared by a service's replicas; part of a ledger's settings. */
export const postgresSettings = {
  url: secret(postgresUrl)
    .optional()
    .describe("PostgreSQL database shared by replicas, instead of the SQLite file; required for two or more replicas"),
  poolSize: z
    .int()
    .min(2)
    .max(100)
    .default(10)
    .describe("Max PostgreSQL connections per process")
    .meta({ expected: "a whole number from 2 to 100" }),
  connectTimeoutMs: milliseconds.default(5_000).describe("Timeout for acquiring a PostgreSQL connection"),
  statementTimeoutMs: milliseconds.default(5_000).describe("Timeout for one PostgreSQL statement"),
};

/** {@link postgresSettings}, parsed. */
export type PostgresSettings = Readonly<{
  url?: Secret | undefined;
  poolSize: number;
  connectTimeoutMs: number;
  statementTimeoutMs: number;
}>;

/** Rejects two ledgers: which of them contains the payments would be ambiguous. */
export function rejectBothLedgers(pathSetting: string, urlSetting: string): StartupError {
  return new StartupError(
    `${pathSetting} and ${urlSetting} are both set, and a ledger stands in one place; remove ${urlSetting} for one process with ` +
      `a SQLite file, or ${pathSetting} for replicas with PostgreSQL.`,
  );
}
