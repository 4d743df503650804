import type { Logger } from "#daemon/log/log.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { pauseInBackground, poll } from "#daemon/time.ts";
import type { Facilitation, SupportedKinds } from "./facilitation.ts";
import type { RejectedTerms } from "./terms-check.ts";

/** Check interval while the facilitator is ready, and while it is not. */
const fitPauseMs = 10_000;
const unfitPauseMs = 500;

/** Tracks whether a facilitator is usable, without calling it on each request. */
export type FacilitatorWatch = AsyncDisposable & Pick<Facilitation, "readiness" | "settlesNothing" | "supported">;

/**
 * Checks periodically whether a facilitator responds to `/supported` with the schemes on the network, and accepts the terms of the current
 * offers; logs each change. Once it was ready, failures are tolerated ({@link rememberFitness}).
 */
export function watchFacilitator(
  { network, schemes }: Readonly<{ network: string; schemes: readonly string[] }>,
  {
    log,
    supported,
    rejectedTerms,
  }: Readonly<{
    log: Logger;
    supported: () => Promise<SupportedKinds>;
    rejectedTerms: (supported: SupportedKinds) => Promise<RejectedTerms | undefined>;
  }>,
): FacilitatorWatch {
  const stop = new AbortController();
  let state: ReadinessCheck = { ok: false, message: "not asked yet" };
  const followed = rememberFitness();
  let settlesNothing = false;
  let listed: Pick<SupportedKinds, "kinds" | "extensions"> = { kinds: [], extensions: [] };

  async function look(): Promise<ReadinessCheck> {
    try {
      const answer = await supported();
      listed = answer;
      const { kinds, error } = answer;
      const settled = kinds.filter((kind) => kind.x402Version === 2 && kind.network === network);
      const missing = schemes.filter((name) => settled.every(({ scheme }) => scheme !== name));
      settlesNothing = missing.length === schemes.length;
      const why = error === undefined ? "" : `: ${error}`;
      if (missing.length > 0)
        return { ok: false, message: `does not settle ${missing.join(" and ")} on ${network}${why}` };
      const rejected = await rejectedTerms(answer);
      settlesNothing = rejected?.areAll === true;
      return { ok: rejected === undefined, message: rejected?.message ?? "answers" };
    } catch (error) {
      return { ok: false, message: error instanceof Error ? error.message : String(error) };
    }
  }

  async function lookAndLog(): Promise<void> {
    const next = await look();
    if (next.ok !== state.ok || next.message !== state.message) {
      const check = next.message;
      if (next.ok) log.info({ event: "facilitator-fit", check }, "facilitator is fit");
      else log.warn({ event: "facilitator-unfit", check }, "facilitator is unfit");
    }
    state = followed(next);
  }

  const intervalMs = () => (state.ok ? fitPauseMs : unfitPauseMs);
  const noteFailure = (error: unknown) => {
    state = followed({ ok: false, message: `it could not be looked at: ${String(error)}` });
  };
  const options = { name: "facilitator watch", failed: noteFailure, intervalMs, signal: stop.signal };
  const watching = poll(options, lookAndLog, { log, pause: pauseInBackground });
  return {
    readiness: () => state,
    settlesNothing: () => settlesNothing,
    supported: () => listed,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await watching;
    },
  };
}

/**
 * Tolerates failures of the check once it has succeeded. All replicas use the same facilitator or chain, so if a failure made every replica
 * unready, a load balancer would have none left to return 503 with Retry-After, to quote prices and to deliver paid responses. Before the
 * first success failures are not tolerated, so that a rollout with a wrong URL or key stops at its first replica.
 */
export function rememberFitness(): (check: ReadinessCheck) => ReadinessCheck {
  let wasFit = false;
  return (check) => {
    wasFit ||= check.ok;
    return wasFit && !check.ok ? { ...check, tolerated: true } : check;
  };
}
