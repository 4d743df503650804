/** Value of a statement's parameter or a column. Integers stay below 2^53; anything larger is decimal text. */
export type SqlValue = string | number | null | Uint8Array;

export type SqlRow = Readonly<Record<string, unknown>>;

/** Runs statements. Parameters are written `$1`, `$2`, …; statements for both kinds of database use only syntax shared by SQLite and PostgreSQL. */
export type SqlConnection = Readonly<{
  rows: (text: string, parameters?: readonly SqlValue[]) => Promise<readonly SqlRow[]>;
  /** Runs a statement, and returns the number of rows written. */
  change: (text: string, parameters?: readonly SqlValue[]) => Promise<number>;
}>;

/** A write is on disk when its promise resolves. Throws `StoreError` when unavailable, the driver's error for faulty statements. */
export type SqlStore = AsyncDisposable &
  SqlConnection &
  Readonly<{
    /** Runs a statement whose loss in a power failure does no harm: visible when the promise resolves, on disk with the next other write. */
    changeUnsynced: SqlConnection["change"];
    /** Runs all statements of `work` or none. May run `work` again when the database requests it (a serialization failure), so it must only run statements. */
    transaction: <T>(work: (connection: SqlConnection) => Promise<T>) => Promise<T>;
    /** The database's own clock as an SQL expression, in milliseconds since 1970: one clock for all clients of the database. */
    nowMs: string;
    /** Suffix of a SELECT in a transaction that locks its rows until the transaction ends; empty if a transaction blocks all other writers. */
    lockRows: string;
    /** An SQL condition that checks whether an expression is an item of a parameter's comma-separated text. */
    isListed: (expression: string, parameter: string) => string;
  }>;

/** Formats the parameters `$1 …` for rows of values, as the text after VALUES; bind the flattened rows. */
export function formatValues(rows: readonly (readonly SqlValue[])[]): string {
  let parameter = 0;
  return rows.map((row) => `(${row.map(() => `$${(parameter += 1)}`).join(", ")})`).join(", ");
}

/**
 * The database is unavailable: restarting, failing over, overloaded or disconnected. A write that throws this may have committed if the
 * connection broke at its end. Determine its outcome by reading, never by retrying.
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code = "store_unavailable";
}
