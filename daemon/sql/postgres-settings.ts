import { z } from "zod";
import { secret } from "../secrets/secret.ts";
import { StartupError } from "../process/startup-error.ts";
import { fixed } from "../settings/section.ts";

/** A `postgresql:` URL, which may contain a password. */
const postgresUrl = z
  .url({ protocol: /^postgres(ql)?$/ })
  .meta({ expected: "a URL like postgresql://<user>:<password>@<host>:5432/<database>" });

/** Settings of the PostgreSQL server shared by a service's replicas; part of a ledger's settings. */
export const postgresSettings = {
  url: secret(postgresUrl)
    .optional()
    .describe("PostgreSQL database shared by replicas, instead of the SQLite file; required for two or more replicas"),
  poolSize: fixed(10),
  connectTimeoutMs: fixed(5_000),
  statementTimeoutMs: fixed(5_000),
};

/** {@link postgresSettings}, parsed. */
export type PostgresSettings = Readonly<z.output<z.ZodObject<typeof postgresSettings>>>;

/** Rejects two ledgers: which of them contains the payments would be ambiguous. */
export function rejectBothLedgers(pathSetting: string, urlSetting: string): StartupError {
  return new StartupError(
    `${pathSetting} and ${urlSetting} are both set, but only one is allowed; remove ${urlSetting} for one process with ` +
      `a SQLite file, or ${pathSetting} for replicas with PostgreSQL.`,
  );
}
