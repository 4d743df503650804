import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { StoreError } from "#daemon/sql/store.ts";
import { createWakeablePause } from "#daemon/time.ts";
import type { SettlingDependencies, SettlingOptions } from "../settling.ts";
import { createLeaseDeadline, type LeaseClaim, leaseTrustMs } from "./settler-lease.ts";
import type { SharedLedger } from "./shared-ledger.ts";
import { startLeaderTerm, type Term } from "./term.ts";

/** A candidate settles by what this replica sees of the shared ledger. */
export type CandidateDependencies = Omit<SettlingDependencies, "ledger"> &
  Readonly<{ shared: Pick<SharedLedger, "lease" | "inTerm"> }>;

/** This replica's readiness to settle: it does so whenever no other one does. Disposing of it ends the term, if it has one. */
export type Candidate = AsyncDisposable &
  Readonly<{
    /** The term under way here; undefined while another replica settles. */
    term: () => Term | undefined;
    readiness: () => ReadinessCheck;
  }>;

/** A quarter of a term's life: two renewals may fail. */
const renewIntervalMs = 1_000;

/** Begins to settle when nobody does, and stands ready otherwise. */
export function startCandidate(options: SettlingOptions, dependencies: CandidateDependencies): Candidate {
  const { shared, log } = dependencies;
  const { lease } = shared;
  const stop = new AbortController();
  const pause = createWakeablePause(dependencies.pause);
  let term: Term | undefined;
  const { runQuery, runClaim, readiness } = createQuerying(dependencies);

  const serve = async (number: number, begun: Term, claim: () => LeaseClaim): Promise<void> => {
    log.info({ event: "term-begun", term: number }, "this replica settles from now on");
    term = begun;
    const onOver = () => {
      term = undefined;
      pause.wake();
    };
    begun.over.addEventListener("abort", onOver, { once: true });
    try {
      let isMine = true;
      while (isMine && !stop.signal.aborted && !begun.over.aborted) {
        await pause.wait(renewIntervalMs);
        if (stop.signal.aborted || begun.over.aborted) break;
        // Without an answer the term goes on for now; the deadline ends it before another replica may begin one.
        isMine = (await runClaim(claim(), () => lease.renew(number), Boolean)) ?? true;
      }
    } finally {
      term = undefined;
      await begun[Symbol.asyncDispose]();
      log.info({ event: "term-ended", term: number }, "this replica settles no longer");
    }
  };

  const tryTerm = async (): Promise<void> => {
    let isLate = false;
    using deadline = createLeaseDeadline(
      { trustMs: leaseTrustMs },
      {
        pause: dependencies.pause,
        onPassed: () => {
          isLate = true;
          term?.lose();
        },
      },
    );
    const number = await runClaim(deadline.claim(), lease.acquire, (given) => given !== undefined);
    if (number === undefined) return;
    const begun = await runQuery(() => startLeaderTerm(options, { ...dependencies, ...shared.inTerm(number) }));
    if (begun === undefined) return;
    if (isLate) begun.lose();
    else await serve(number, begun, deadline.claim);
    if (stop.signal.aborted) await runQuery(() => lease.release(number));
  };

  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await tryTerm();
      } catch (error) {
        log.error({ event: "settling-broken-off", err: error }, "settling broke off; trying again");
      }
      if (!stop.signal.aborted) await pause.wait(renewIntervalMs);
    }
  };
  const running = run();
  return {
    term: () => term,
    readiness,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      pause.wake();
      await running;
    },
  };
}

/** Queries the database, and notices whether it answers. */
function createQuerying({ log }: Pick<CandidateDependencies, "log">) {
  let state: ReadinessCheck = { ok: true, message: "answers" };
  /** Returns the result of the work; undefined if the database can't be used now. */
  const runQuery = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      const result = await work();
      if (!state.ok) log.info({ event: "ledger-answers" }, "the ledger answers again");
      state = { ok: true, message: "answers" };
      return result;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (state.ok)
        log.warn({ event: "ledger-lost", err: error }, "the ledger does not answer; payments are answered 503");
      state = { ok: false, message: error.message };
      return undefined;
    }
  };
  /** The same for a lease, whose deadline moves when it is given. */
  const runClaim = async <T>(claim: LeaseClaim, work: () => Promise<T>, isMine: (said: T) => boolean) => {
    const said = await runQuery(work);
    if (said !== undefined && isMine(said)) claim.confirm();
    else claim.drop();
    return said;
  };
  return { runQuery, runClaim, readiness: () => state };
}
