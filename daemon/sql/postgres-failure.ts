import { formatShellWords } from "../command-line/shell-word.ts";
import { formatAuthority } from "../http/address.ts";

/** A database as its URL specifies it, without the password. */
export type DatabaseLocation = Readonly<{
  host: string;
  port: number;
  database?: string | undefined;
  user?: string | undefined;
}>;

/** Common fields of the driver's errors; `code` is a five-character SQLSTATE, or a Node error code. */
export type Failure = Readonly<{ code?: string; message: string }>;

/** What to do about an error whose code and message match. */
type Remedy = readonly [pattern: RegExp, advise: (location: DatabaseLocation) => string];

const remedies: readonly Remedy[] = [
  [/no encryption|SSL off/, () => "add ?sslmode=verify-full to the URL: the server requires TLS"],
  [/does not support SSL/, () => "remove sslmode from the URL, or enable TLS on the server"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID/, () => "correct the host in the URL: the server's certificate is for another host"],
  [/^CERT_(HAS_EXPIRED|NOT_YET_VALID)/, () => "renew the server's certificate, or correct this machine's clock"],
  [/_CERT|_SIGNATURE|ERR_TLS_/, () => "add the server's CA to the URL: sslrootcert=<path of its PEM file>"],
  [/^28P01|password must be a string/, () => "correct the user and password in the URL"],
  [/^28000/, ({ user }) => `permit user ${user} in the server's pg_hba.conf, or correct the user in the URL`],
  [/^3D000/, (location) => `run ${formatCreation(location)}, or correct the database in the URL`],
  [/^42501/, ({ user }) => `make user ${user} the database's owner, or correct user and database in the URL`],
  [/^53300/, () => "close other connections, or raise the server's max_connections"],
  [/^57014|^53|read timeout/, () => "check the server's log, load and free disk space"],
  [/^25006/, () => "correct the host in the URL: the server must be the primary, not a standby"],
  // A server that reports an SQLSTATE can be reached. No class starts with E, unlike Node's error codes.
  [/^[0-9FHPX][0-9A-Z]{4} /, () => "check the server's log"],
  [/^(ENOTFOUND|EAI_AGAIN)/, () => "correct the host in the URL"],
];

export function formatServer({ host, port }: DatabaseLocation): string {
  return `PostgreSQL at ${formatAuthority(host, port)}`;
}

/** Describes the database, the driver's error and what to do about it. Its messages include the user and the database, never the password. */
export function explainPostgresFailure(error: unknown, location: DatabaseLocation): string {
  const { code = "", message = "" } = error as Partial<Failure>;
  const advise =
    remedies.find(([pattern]) => pattern.test(`${code} ${message}`))?.[1] ??
    (() => "check that the server is running and reachable from here, or correct host and port in the URL");
  // If several addresses refused the connection, the error has no message.
  const reason = message || code || "no answer";
  return `can't use database "${location.database}" of ${formatServer(location)} (${reason}); ${advise(location)}`;
}

function formatCreation({ host, port, database = "", user = "" }: DatabaseLocation): string {
  return formatShellWords(["createdb", `--host=${host}`, `--port=${port}`, `--owner=${user}`, database]);
}
