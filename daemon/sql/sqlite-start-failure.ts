import { dirname } from "node:path";
import { StartupError } from "../startup-error.ts";

/** What is wrong, and what to do about it, by SQLite's primary result code (sqlite.org, "Result Codes"). */
const byResultCode: Readonly<Record<number, "unwritable" | "damaged" | "full">> = {
  3: "unwritable",
  8: "unwritable",
  10: "full",
  11: "damaged",
  13: "full",
  14: "unwritable",
  26: "damaged",
};

const bySystemCode: Readonly<Record<string, "unwritable" | "full">> = {
  EACCES: "unwritable",
  EPERM: "unwritable",
  EROFS: "unwritable",
  EEXIST: "unwritable",
  ENOTDIR: "unwritable",
  ENOSPC: "full",
  EDQUOT: "full",
};

/** Says in one line why a database file can't be used at the start. What is known to be something else is handed back as it is. */
export function sqliteStartFailure(error: unknown, path: string, setting: string | undefined): unknown {
  if (error instanceof StartupError || !(error instanceof Error)) return error;
  const { errcode, code = "" } = error as Error & Readonly<{ errcode?: number; code?: string }>;
  // Extended result codes have the primary one in their lowest byte.
  const kind = errcode === undefined ? bySystemCode[code] : byResultCode[errcode & 0xff];
  if (kind === undefined) return error;
  const elsewhere = setting === undefined ? "name another place" : `set ${setting} to another place`;
  const why = errcode === undefined ? code : error.message;
  const user = process.getuid === undefined ? "this user" : `user ${process.getuid()}`;
  const lines = {
    unwritable: `${path} can't be opened for writing (${why}); let ${user} write to ${dirname(path)}, or ${elsewhere}.`,
    full: `${path} can't be written (${why}); make room on its disk, or ${elsewhere}.`,
    damaged:
      `${path} is damaged, or no SQLite database (${why}); put back a copy of it and of the files beside it, or ${elsewhere}. ` +
      `Keep the damaged file: "sqlite3 ${path} .recover" saves what can be read.`,
  };
  return new StartupError(lines[kind], { cause: error });
}
