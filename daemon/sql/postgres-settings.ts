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
    .describe("PostgreSQL database that replicas share, instead of the SQLite file; needed as soon as there are two"),
  poolSize: z
    .int()
    .min(2)
    .max(100)
    .default(10)
    .describe("Most connections to PostgreSQL of one process")
    .meta({ expected: "a whole number from 2 to 100" }),
  connectTimeoutMs: milliseconds.default(5_000).describe("How long a connection to PostgreSQL may take to be had"),
  statementTimeoutMs: milliseconds.default(5_000).describe("How long one statement may take in PostgreSQL"),
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
