import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { StoreError } from "#daemon/sql/store.ts";
import { repeat } from "#daemon/time.ts";
import type { SettlingDependencies, EngineOptions } from "../engine.ts";
import { createLeaseDeadline, type LeaseClaim, leaseTrustMs } from "./settler-lease.ts";
import type { SharedLedger } from "./shared-ledger.ts";
import { startLeaderTerm, type Term } from "./term.ts";

/** Dependencies of a candidate, which settles from this replica's view of the shared ledger. */
export type CandidateDependencies = Omit<SettlingDependencies, "ledger"> &
  Readonly<{ shared: Pick<SharedLedger, "lease" | "inTerm"> }>;

/** This replica as a candidate for settling: it settles whenever no other replica does. Disposal ends its current term, if any. */
export type Candidate = AsyncDisposable &
  Readonly<{
    /** Current term of this replica; undefined while another replica settles. */
    term: () => Term | undefined;
    readiness: () => ReadinessCheck;
  }>;

/** A quarter of a term's lifetime, so that two renewals may fail. */
const renewIntervalMs = 1_000;

/** Starts to settle when no other replica does; stands by otherwise. */
export function startCandidate(options: EngineOptions, dependencies: CandidateDependencies): Candidate {
  const { shared, pause, log } = dependencies;
  const { lease } = shared;
  let term: Term | undefined;
  const { runQuery, runClaim, readiness } = createQuerying(dependencies);

  const serve = async (number: number, begun: Term, claim: () => LeaseClaim, stop: AbortSignal): Promise<void> => {
    log.info({ event: "term-started", term: number }, "this replica is now the leader and settles");
    term = begun;
    begun.over.addEventListener("abort", () => (term = undefined), { once: true });
    const ended = AbortSignal.any([stop, begun.over]);
    try {
      let isMine = true;
      while (isMine && !ended.aborted) {
        await pause(renewIntervalMs, ended);
        if (ended.aborted) break;
        // Without a response the term continues; the deadline ends it before another replica may start one.
        isMine = (await runClaim(claim(), () => lease.renew(number), Boolean)) ?? true;
      }
    } finally {
      term = undefined;
      await begun[Symbol.asyncDispose]();
      log.info({ event: "term-ended", term: number }, "this replica is no longer the leader");
    }
  };

  const tryTerm = async (stop: AbortSignal): Promise<void> => {
    let isLate = false;
    const onPassed = () => {
      isLate = true;
      term?.lose();
    };
    using deadline = createLeaseDeadline({ trustMs: leaseTrustMs }, { pause, onPassed });
    const number = await runClaim(deadline.claim(), lease.acquire, (given) => given !== undefined);
    if (number === undefined) return;
    const begun = await runQuery(() => startLeaderTerm(options, { ...dependencies, ...shared.inTerm(number) }));
    if (begun === undefined) return;
    if (isLate) {
      begun.lose();
      await begun[Symbol.asyncDispose]();
    } else await serve(number, begun, deadline.claim, stop);
    if (stop.aborted) await runQuery(() => lease.release(number));
  };

  const failed = (error: unknown) => log.error({ event: "settling-failed", err: error }, "settling failed; retrying");
  const candidacy = repeat(tryTerm, { intervalMs: renewIntervalMs, failed }, { pause });
  return { term: () => term, readiness, [Symbol.asyncDispose]: () => candidacy[Symbol.asyncDispose]() };
}

/** Creates functions that query the database and track whether it responds. */
function createQuerying({ log }: Pick<CandidateDependencies, "log">) {
  let state: ReadinessCheck = { ok: true, message: "answers" };
  /** Returns the result of the work; undefined if the database is unavailable. */
  const runQuery = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      const result = await work();
      if (!state.ok) log.info({ event: "ledger-recovered" }, "the ledger responds again");
      state = { ok: true, message: "answers" };
      return result;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (state.ok) log.warn({ event: "ledger-lost", err: error }, "the ledger is not responding; payments get 503");
      state = { ok: false, message: error.message };
      return undefined;
    }
  };
  /** Same as `runQuery` for a lease; extends its deadline when granted. */
  const runClaim = async <T>(claim: LeaseClaim, work: () => Promise<T>, isMine: (said: T) => boolean) => {
    const said = await runQuery(work);
    if (said !== undefined && isMine(said)) claim.confirm();
    else claim.drop();
    return said;
  };
  return { runQuery, runClaim, readiness: () => state };
}
