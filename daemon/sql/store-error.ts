/**
 * The database can't be used just now: it is restarting, failing over, overloaded or cut off. A write that throws this may have
 * happened all the same when the connection broke at its end. So its outcome is found by reading, never by acting a second time.
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code = "store_unavailable";
}
