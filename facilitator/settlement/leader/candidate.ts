import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { StoreError } from "#daemon/sql/store-error.ts";
import { createWakeablePause } from "#daemon/time.ts";
import type { SettlingDependencies, SettlingOptions } from "../settling.ts";
import type { SharedLedger } from "./shared-ledger.ts";
import { startLeaderTerm, type Term } from "./term.ts";

/** What the duty works with. */
export type CandidateDependencies = Omit<SettlingDependencies, "ledger"> &
  Readonly<{ shared: Pick<SharedLedger, "lease" | "inTerm"> }>;

/** This replica's readiness to settle: it does so whenever no other one does. Disposing of it ends the term, if it has one. */
export type Candidate = AsyncDisposable &
  Readonly<{
    /** The term that is under way here; none while another replica settles. */
    term: () => Term | undefined;
    readiness: () => ReadinessCheck;
  }>;

/** A quarter of a term's life: three renewals may fail. */
const renewIntervalMs = 1_000;

/** Begins to settle when nobody does, and stands ready otherwise. */
export function startCandidate(options: SettlingOptions, dependencies: CandidateDependencies): Candidate {
  const { shared, log } = dependencies;
  const { lease } = shared;
  const stop = new AbortController();
  const pause = createWakeablePause(dependencies.pause);
  let term: Term | undefined;
  let state: ReadinessCheck = { ok: true, message: "answers" };

  /** What the work gives, or nothing when the database can't be used now. */
  const asking = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      const result = await work();
      if (!state.ok) log.info("the ledger answers again");
      state = { ok: true, message: "answers" };
      return result;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (state.ok) log.warn({ err: error }, "the ledger does not answer; payments are answered 503");
      state = { ok: false, message: error.message };
      return undefined;
    }
  };
  const serve = async (number: number): Promise<void> => {
    const begun = await asking(() => startLeaderTerm(options, { ...dependencies, ...shared.inTerm(number) }));
    if (begun === undefined) return;
    log.info({ term: number }, "this replica settles from now on");
    term = begun;
    begun.over.addEventListener("abort", pause.wake, { once: true });
    let isMine = true;
    while (isMine && !stop.signal.aborted && !begun.over.aborted) {
      await pause.wait(renewIntervalMs);
      // While the database is away nobody can take over either; if somebody has, the guard of the next write tells.
      if (!stop.signal.aborted) isMine = (await asking(() => lease.renew(number))) ?? true;
    }
    term = undefined;
    await begun[Symbol.asyncDispose]();
    log.info({ term: number }, "this replica settles no longer");
    if (stop.signal.aborted) await asking(() => lease.release(number));
  };
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        const number = await asking(lease.acquire);
        if (number !== undefined) await serve(number);
      } catch (error) {
        log.error({ err: error }, "settling broke off; trying again");
      }
      if (!stop.signal.aborted) await pause.wait(renewIntervalMs);
    }
  };
  const running = run();
  return {
    term: () => term,
    readiness: () => state,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      pause.wake();
      await running;
    },
  };
}
