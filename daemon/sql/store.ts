/** Value that a statement takes and a column holds. Whole numbers stay below 2^53; anything larger is decimal text. */
export type SqlValue = string | number | null | Uint8Array;

/** One row, by column name. */
export type SqlRow = Readonly<Record<string, unknown>>;

/**
 * Runs statements. Parameters are written `$1`, `$2`, …, and every text that more than one kind of database runs keeps to what SQLite
 * and PostgreSQL both understand.
 */
export type SqlConnection = Readonly<{
  rows: (text: string, parameters?: readonly SqlValue[]) => Promise<readonly SqlRow[]>;
  /** Runs a statement, and returns the number of rows that it wrote. */
  change: (text: string, parameters?: readonly SqlValue[]) => Promise<number>;
}>;

/**
 * A durable database: a write is on disk when its promise resolves. Every method throws `StoreError` when the
 * database can't be used now; a violated constraint and a faulty statement throw the driver's own error.
 */
export type SqlStore = AsyncDisposable &
  SqlConnection &
  Readonly<{
    /**
     * Runs all statements of `work` or none. `work` may be run again when the database requests that (a serialization failure), so
     * it must do nothing but run statements.
     */
    transaction: <T>(work: (connection: SqlConnection) => Promise<T>) => Promise<T>;
    /** The database's own clock as an SQL expression, in milliseconds since 1970: one clock for all who share the database. */
    nowMs: string;
    /** Ends a SELECT in a transaction so that its rows stay as they are until that ends; empty if a transaction keeps all others from writing. */
    lockRows: string;
    /** An SQL condition: whether an expression is one of the items of a parameter's text, which commas separate. */
    isListed: (expression: string, parameter: string) => string;
  }>;

/** Formats the parameters `$1 …` for rows of values, as the text that follows VALUES; bind the rows flattened. */
export function formatValues(rows: readonly (readonly SqlValue[])[]): string {
  let parameter = 0;
  return rows.map((row) => `(${row.map(() => `$${(parameter += 1)}`).join(", ")})`).join(", ");
}

/**
 * The database can't be used just now: it is restarting, failing over, overloaded or cut off. A write that throws this may have
 * happened all the same when the connection broke at its end. So its outcome is found by reading, never by acting a second time.
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code = "store_unavailable";
}
