import { Client } from "pg";
import type { Secret } from "../secrets/secret.ts";
import { StartupError } from "../process/startup-error.ts";
import { StoreError } from "./store.ts";
import { formatAuthority } from "../http/address.ts";

/** A database, and the setting that specifies it. */
type Place = Readonly<{ url: Secret; setting: string; schema: string }>;

/**
 * Explains in one line why a database can't be used at startup and what to do. Includes server, database and user, never the password.
 * Codes are SQLSTATEs (PostgreSQL manual, "PostgreSQL Error Codes").
 */
export function describeStartFailure(error: unknown, { url, setting, schema }: Place): Error {
  if (error instanceof StartupError) return error;
  const { database = "", user = "" } = new Client({ connectionString: url.reveal() });
  const server = formatServer(url);
  const cause = error instanceof StoreError ? error.cause : error;
  const { code = "", message = "" } = cause as Readonly<{ code?: string; message?: string }>;
  const report = (text: string) => new StartupError(`${setting}: ${text}`, { cause });
  switch (code) {
    case "28P01":
    case "28000":
      return report(
        `${server} rejected user "${user}" for database "${database}" (${message}); correct user and password, or pg_hba.conf.`,
      );
    case "3D000":
      return report(`${server} has no database "${database}"; create it (CREATE DATABASE), or correct the URL.`);
    case "42501":
      return report(
        `user "${user}" may not use schema ${schema} of database "${database}" (${message}); ` +
          `GRANT CREATE ON DATABASE to the user, or create the schema with the user as its owner.`,
      );
    case "57P03":
    case "53300":
      return report(`${server} accepts no connections now (${message}); wait until it does, then restart.`);
    default:
      return report(
        `can't use ${server} (${message === "" ? code : message}); correct the URL, or check that the server is running and reachable from here.`,
      );
  }
}

/** Formats the database's address and its setting, e.g. `PostgreSQL at db:5432 (GATEHOUSE_…_URL)`. */
export function formatLocation({ url, setting }: Pick<Place, "url" | "setting">): string {
  return `${formatServer(url)} (${setting})`;
}

function formatServer(url: Secret): string {
  const { host, port } = new Client({ connectionString: url.reveal() });
  return `PostgreSQL at ${formatAuthority(host, port)}`;
}
