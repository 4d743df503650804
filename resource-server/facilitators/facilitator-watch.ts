import { isDeepStrictEqual } from "node:util";
import type { Logger } from "#daemon/log/log.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { pauseInBackground, poll } from "#daemon/time.ts";
import type { SoldKind } from "../routes/route.ts";
import { findKind } from "./completed-offers.ts";
import type { Facilitation, SupportedKinds } from "./facilitation.ts";
import type { RejectedTerms } from "./terms-check.ts";

const fitPauseMs = 10_000;
const unfitPauseMs = 500;

type WatchedFacilitator = Readonly<{
  log: Logger;
  /** Aborts when the process stops; an interrupted check implies nothing about the facilitator. */
  signal: AbortSignal;
  supported: () => Promise<SupportedKinds>;
  rejectedTerms: (supported: SupportedKinds) => Promise<RejectedTerms | undefined>;
}>;

export type FacilitatorWatch = AsyncDisposable &
  Pick<Facilitation, "readiness" | "isSettlingPaused" | "supported"> &
  Readonly<{
    /** Checks at once, because a call failed. */
    suspect: () => void;
    /** Resolves after the first check, successful or not. */
    checked: Promise<void>;
  }>;

type LastCheck = Readonly<{
  check: ReadinessCheck;
  isSettlingPaused: boolean;
  wasReached: boolean;
  listed: Pick<SupportedKinds, "kinds" | "extensions">;
}>;

/**
 * Checks periodically whether a facilitator responds to `/supported` with the kinds of payment sold, and accepts the terms of the current
 * offers; logs each change. Once the facilitator has been reached, nothing is settled while its last check failed, so that no client signs
 * a payment; once it has been ready, the server stays ready despite failures ({@link tolerateLaterFailures}). Before it was reached, the
 * server is unready, but responds with 402 to unpaid requests (specification, "Errors").
 */
export function watchFacilitator(
  { kinds: soldKinds }: Readonly<{ kinds: readonly SoldKind[] }>,
  { log, signal, supported, rejectedTerms }: WatchedFacilitator,
): FacilitatorWatch {
  const trackFailures = tolerateLaterFailures();
  const firstCheck = Promise.withResolvers<void>();
  let lastCheck: LastCheck = {
    check: { ok: false, message: "not checked yet" },
    isSettlingPaused: false,
    wasReached: false,
    listed: { kinds: [], extensions: [] },
  };

  async function judge(supportedKinds: SupportedKinds): Promise<Pick<LastCheck, "check" | "isSettlingPaused">> {
    const missingKinds = soldKinds.filter((kind) => findKind(supportedKinds.kinds, kind) === undefined);
    const isPartial =
      new Set(missingKinds.map(({ network }) => network)).size < new Set(soldKinds.map(({ network }) => network)).size;
    if (missingKinds.length > 0) {
      const check = tolerateIf(isPartial, describeMissing(missingKinds, supportedKinds));
      return { check, isSettlingPaused: missingKinds.length === soldKinds.length };
    }
    const newRejectedTerms = await rejectedTerms(supportedKinds);
    if (newRejectedTerms === undefined) return { check: { ok: true, message: "answers" }, isSettlingPaused: false };
    return {
      check: tolerateIf(newRejectedTerms.isPartial, newRejectedTerms.message),
      isSettlingPaused: newRejectedTerms.areAll,
    };
  }

  async function checkFacilitator(): Promise<LastCheck> {
    let { wasReached, listed: listedKinds } = lastCheck;
    try {
      const supportedKinds = await supported();
      wasReached = true;
      const { kinds, extensions } = supportedKinds;
      if (!isDeepStrictEqual(listedKinds, { kinds, extensions })) listedKinds = { kinds, extensions };
      return { ...(await judge(supportedKinds)), wasReached, listed: listedKinds };
    } catch (error) {
      const check = { ok: false, message: error instanceof Error ? error.message : String(error) };
      return { check, isSettlingPaused: wasReached, wasReached, listed: listedKinds };
    }
  }

  async function checkAndLog(stopSignal: AbortSignal): Promise<void> {
    const nextCheck = await checkFacilitator();
    if (stopSignal.aborted) return;
    const { ok, message: check } = nextCheck.check;
    if (ok !== lastCheck.check.ok || check !== lastCheck.check.message) {
      if (ok) log.info({ event: "facilitator-available", check }, "the facilitator is usable");
      else log.warn({ event: "facilitator-unavailable", check }, "the facilitator is not usable");
    }
    lastCheck = { ...nextCheck, check: trackFailures(nextCheck.check) };
    firstCheck.resolve();
  }

  const intervalMs = () => (lastCheck.check.ok ? fitPauseMs : unfitPauseMs);
  const noteFailure = (error: unknown) => {
    const check = trackFailures({ ok: false, message: `it could not be checked: ${String(error)}` });
    lastCheck = { ...lastCheck, check, isSettlingPaused: lastCheck.wasReached };
    firstCheck.resolve();
  };
  const options = { name: "facilitator watch", failed: noteFailure, intervalMs, signal };
  const repetition = poll(options, checkAndLog, { log, pause: pauseInBackground });
  return {
    readiness: () => lastCheck.check,
    isSettlingPaused: () => lastCheck.isSettlingPaused,
    supported: () => lastCheck.listed,
    checked: firstCheck.promise,
    suspect: () => {
      if (lastCheck.check.ok) repetition.wake();
    },
    [Symbol.asyncDispose]: () => repetition[Symbol.asyncDispose](),
  };
}

/** A failure; `isPartial` means that payments on another network are unaffected. */
function tolerateIf(isPartial: boolean, message: string): ReadinessCheck {
  return isPartial ? { ok: false, message, tolerated: true } : { ok: false, message };
}

function describeMissing(missingKinds: readonly SoldKind[], { error }: Pick<SupportedKinds, "error">): string {
  const byNetwork = [...Map.groupBy(missingKinds, ({ network }) => network)];
  const parts = byNetwork.map(([network, kinds]) => `${kinds.map(({ scheme }) => scheme).join(" and ")} on ${network}`);
  return `does not settle ${parts.join(", ")}${error === undefined ? "" : `: ${error}`}`;
}

/**
 * Tolerates failures of the check once it has succeeded. All replicas use the same facilitator or chain, so if a
 * failure made every replica unready, a load balancer would have none left to return 503 with Retry-After and to
 * deliver paid responses. Before the first success, failures are not tolerated, so that a rollout with a
 * wrong URL or key stops at its first replica.
 */
export function tolerateLaterFailures(): (check: ReadinessCheck) => ReadinessCheck {
  let wasFit = false;
  return (check) => {
    wasFit ||= check.ok;
    return wasFit && !check.ok ? { ...check, tolerated: true } : check;
  };
}
