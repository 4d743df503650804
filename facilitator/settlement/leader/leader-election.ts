import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { trackStore } from "#daemon/sql/store-watch.ts";
import { StoreError } from "#daemon/sql/store.ts";
import { repeat, type Pause } from "#daemon/time.ts";
import type { SettlementContext } from "../context.ts";
import type { SharedLedger } from "./shared-ledger.ts";
import { startLeaderTerm, type Term } from "./term.ts";

export type Candidate = AsyncDisposable & Readonly<{ term: () => Term | undefined; readiness: () => ReadinessCheck }>;

/**
 * How long a replica trusts a renewal, by its own clock, counted from before the request. This is shorter than a term, so that a leader
 * that can't renew stops before another one starts, provided that its clock is at most an eighth slower than the database's. The guard
 * covers a suspended process.
 */
const leaseTrustMs = 3_500;

/** A quarter of a term's lifetime, so that two renewals can fail. */
const renewIntervalMs = 1_000;

export function startCandidate(context: SettlementContext, { lease, inTerm }: SharedLedger): Candidate {
  const { pause, log } = context;
  let term: Term | undefined;
  const { runQuery, runClaim, readiness } = createQuerying(context);

  const serve = async (
    number: number,
    startedTerm: Term,
    claim: () => LeaseClaim,
    stop: AbortSignal,
  ): Promise<void> => {
    log.info({ event: "term-started", term: number }, "this replica is now the leader and settles");
    term = startedTerm;
    startedTerm.over.addEventListener("abort", () => (term = undefined), { once: true });
    const termSignal = AbortSignal.any([stop, startedTerm.over]);
    try {
      let isMine = true;
      while (isMine && !termSignal.aborted) {
        await pause(renewIntervalMs, termSignal);
        if (termSignal.aborted) break;
        // Without a response, the term continues until its deadline, which precedes the start of another replica's term.
        isMine = (await runClaim(claim(), () => lease.renew(number), Boolean)) ?? true;
      }
    } finally {
      term = undefined;
      await startedTerm[Symbol.asyncDispose]();
      log.info({ event: "term-ended", term: number }, "this replica is no longer the leader");
    }
  };

  const tryTerm = async (stop: AbortSignal): Promise<void> => {
    let isLate = false;
    const onPassed = () => {
      isLate = true;
      term?.lose();
    };
    using deadline = createLeaseDeadline(leaseTrustMs, { pause, onPassed });
    const number = await runClaim(deadline.claim(), lease.acquire, (termNumber) => termNumber !== undefined);
    if (number === undefined) return;
    const startedTerm = await runQuery(() => startLeaderTerm(context, inTerm(number)));
    if (startedTerm === undefined) return;
    if (isLate) {
      startedTerm.lose();
      await startedTerm[Symbol.asyncDispose]();
    } else await serve(number, startedTerm, deadline.claim, stop);
    if (stop.aborted) await runQuery(() => lease.release(number));
  };

  const onFailure = (error: unknown) =>
    log.error({ event: "settling-failed", err: error }, "settling failed; retrying");
  const candidacy = repeat(tryTerm, { intervalMs: renewIntervalMs, failed: onFailure }, { pause });
  return { term: () => term, readiness, [Symbol.asyncDispose]: () => candidacy[Symbol.asyncDispose]() };
}

function createQuerying({ log }: Pick<SettlementContext, "log">) {
  const { readiness, responded: recordResponse, failed: onFailure } = trackStore({ log });
  /** Returns the result of the work; undefined if the database is unavailable. */
  const runQuery = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      const result = await work();
      recordResponse();
      return result;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      onFailure(error);
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
  return { runQuery, runClaim, readiness };
}

type LeaseClaim = Readonly<{
  /** Granted: the lease is valid from the time of the query. */
  confirm: () => void;
  /** Declined or unknown: the earlier deadline stays valid. */
  drop: () => void;
}>;

/**
 * Creates the deadline until which a replica may trust its lease; inactive at first. It counts from before each query,
 * because the time at which the database executed it is unknown. `onPassed` is called when a lease is not renewed in time.
 */
export function createLeaseDeadline(
  trustMs: number,
  { pause, onPassed }: Readonly<{ pause: Pause; onPassed: () => void }>,
): Disposable & Readonly<{ claim: () => LeaseClaim }> {
  let confirmation: AbortController | undefined;
  return {
    claim: () => {
      const countdown = new AbortController();
      let isPassed = false;
      const count = async (): Promise<void> => {
        await pause(trustMs, countdown.signal);
        if (countdown.signal.aborted) return;
        isPassed = true;
        if (confirmation === countdown) onPassed();
      };
      void count();
      return {
        confirm: () => {
          confirmation?.abort();
          confirmation = countdown;
          if (isPassed) onPassed();
        },
        drop: () => countdown.abort(),
      };
    },
    [Symbol.dispose]: () => confirmation?.abort(),
  };
}
