import { StoreError } from "./store-error.ts";

/** What the driver's errors have in common; `code` is a SQLSTATE of five characters, or an error code of Node. */
type Failure = Readonly<{ code?: string; message: string }>;

/** serialization_failure and deadlock_detected: PostgreSQL asks to run the transaction again (PostgreSQL manual, "Serialization Failure Handling"). */
const runAgain = new Set(["40001", "40P01"]);

/** SQLSTATE classes of faults that lie in the statement or its values: no other moment makes them good. */
const lasting = /^(22|23|42)[0-9A-Z]{3}$/;

/** Whether PostgreSQL asks to run the transaction again. */
export function isSerializationFailure(error: unknown): boolean {
  return runAgain.has((error as Failure).code ?? "");
}

/** The error that a store throws: `StoreError`, unless the statement itself is at fault. */
export function storeFailure(error: unknown): Error {
  if (error instanceof StoreError) return error;
  const { code, message } = error as Failure;
  if (error instanceof Error && code !== undefined && lasting.test(code)) return error;
  // What a refused connection to several addresses throws has no message of its own.
  const text = message === "" || message === undefined ? (code ?? "no answer") : message;
  return new StoreError(`PostgreSQL can't be used now: ${text}`, { cause: error });
}
