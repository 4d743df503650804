import type { ReadinessCheck } from "../http/readiness.ts";
import type { Logger } from "../log/log.ts";
import { pauseInBackground, repeat, type Pause } from "../time.ts";
import type { SqlStore } from "./store.ts";

/** Whether a ledger is usable, from the outcome of its last query. */
export type StoreState = Readonly<{
  readiness: () => ReadinessCheck;
  responded: () => void;
  failed: (error: unknown) => void;
}>;

const respondingCheck: ReadinessCheck = { ok: true, message: "answers" };

/** Tracks whether a ledger responds, and logs each change. */
export function trackStore({ log }: Readonly<{ log: Logger }>): StoreState {
  let state = respondingCheck;
  return {
    readiness: () => state,
    responded: () => {
      if (!state.ok) log.info({ event: "ledger-recovered" }, "the ledger responds again");
      state = respondingCheck;
    },
    failed: (error) => {
      if (state.ok) log.warn({ event: "ledger-lost", err: error }, "the ledger is not responding; payments get 503");
      state = { ok: false, message: error instanceof Error ? error.message : String(error) };
    },
  };
}

/** Intervals between writes that check a ledger which no other process uses. */
const checkIntervalMs = 10_000;
const failedIntervalMs = 1_000;

/** Checks by a small write whether a SQLite ledger is usable, so that a full disk is reported without a payment. */
export function watchStore(
  store: Pick<SqlStore, "changeUnsynced">,
  { log, pause = pauseInBackground }: Readonly<{ log: Logger; pause?: Pause | undefined }>,
): AsyncDisposable & Pick<StoreState, "readiness"> {
  const { readiness, responded: recordResponse, failed } = trackStore({ log });
  const check = async (): Promise<void> => {
    // Always writes a page, even if the value is the same.
    await store.changeUnsynced("PRAGMA application_id = 0");
    recordResponse();
  };
  const intervalMs = () => (readiness().ok ? checkIntervalMs : failedIntervalMs);
  const checkLoop = repeat(check, { intervalMs, failed, waitsFirst: true }, { pause });
  return { readiness, [Symbol.asyncDispose]: () => checkLoop[Symbol.asyncDispose]() };
}
