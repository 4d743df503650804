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
  /** Aborts when the process stops; a check interrupted by this implies nothing about the facilitator. */
  signal: AbortSignal;
  supported: () => Promise<SupportedKinds>;
  rejectedTerms: (supported: SupportedKinds) => Promise<RejectedTerms | undefined>;
}>;

export type FacilitatorWatch = AsyncDisposable &
  Pick<Facilitation, "readiness" | "settlesNothing" | "supported"> &
  Readonly<{
    /** Checks at once, because a call failed. */
    suspect: () => void;
    /** Resolves after the first check, successful or not. */
    checked: Promise<void>;
  }>;

type LastCheck = Readonly<{
  check: ReadinessCheck;
  settlesNothing: boolean;
  wasReached: boolean;
  listed: Pick<SupportedKinds, "kinds" | "extensions">;
}>;

/**
 * Checks periodically whether a facilitator responds to `/supported` with the kinds of payment sold, and accepts the terms of the current
 * offers; logs each change. Once the facilitator was reached, nothing is settled while its last check failed, so that no client signs a
 * payment; once it was ready, the server stays ready despite failures ({@link tolerateLaterFailures}). Before it was reached, the server is
 * unready, but responds with 402 to unpaid requests (specification, "Errors").
 */
export function watchFacilitator(
  { kinds: sold }: Readonly<{ kinds: readonly SoldKind[] }>,
  { log, signal, supported, rejectedTerms }: WatchedFacilitator,
): FacilitatorWatch {
  const followed = tolerateLaterFailures();
  const first = Promise.withResolvers<void>();
  let last: LastCheck = {
    check: { ok: false, message: "not checked yet" },
    settlesNothing: false,
    wasReached: false,
    listed: { kinds: [], extensions: [] },
  };

  async function judge(answer: SupportedKinds): Promise<Pick<LastCheck, "check" | "settlesNothing">> {
    const missing = sold.filter((kind) => findKind(answer.kinds, kind) === undefined);
    const isPartial =
      new Set(missing.map(({ network }) => network)).size < new Set(sold.map(({ network }) => network)).size;
    if (missing.length > 0) {
      const check = tolerateIf(isPartial, describeMissing(missing, answer));
      return { check, settlesNothing: missing.length === sold.length };
    }
    const rejected = await rejectedTerms(answer);
    if (rejected === undefined) return { check: { ok: true, message: "answers" }, settlesNothing: false };
    return { check: tolerateIf(rejected.isPartial, rejected.message), settlesNothing: rejected.areAll };
  }

  async function checkFacilitator(): Promise<LastCheck> {
    let { wasReached, listed } = last;
    try {
      const answer = await supported();
      wasReached = true;
      const { kinds, extensions } = answer;
      if (!isDeepStrictEqual(listed, { kinds, extensions })) listed = { kinds, extensions };
      return { ...(await judge(answer)), wasReached, listed };
    } catch (error) {
      const check = { ok: false, message: error instanceof Error ? error.message : String(error) };
      return { check, settlesNothing: wasReached, wasReached, listed };
    }
  }

  async function checkAndLog(stopping: AbortSignal): Promise<void> {
    const next = await checkFacilitator();
    if (stopping.aborted) return;
    const { ok, message: check } = next.check;
    if (ok !== last.check.ok || check !== last.check.message) {
      if (ok) log.info({ event: "facilitator-available", check }, "the facilitator is usable");
      else log.warn({ event: "facilitator-unavailable", check }, "the facilitator is not usable");
    }
    last = { ...next, check: followed(next.check) };
    first.resolve();
  }

  const intervalMs = () => (last.check.ok ? fitPauseMs : unfitPauseMs);
  const noteFailure = (error: unknown) => {
    const check = followed({ ok: false, message: `it could not be checked: ${String(error)}` });
    last = { ...last, check, settlesNothing: last.wasReached };
    first.resolve();
  };
  const options = { name: "facilitator watch", failed: noteFailure, intervalMs, signal };
  const watching = poll(options, checkAndLog, { log, pause: pauseInBackground });
  return {
    readiness: () => last.check,
    settlesNothing: () => last.settlesNothing,
    supported: () => last.listed,
    checked: first.promise,
    suspect: () => {
      if (last.check.ok) watching.wake();
    },
    [Symbol.asyncDispose]: () => watching[Symbol.asyncDispose](),
  };
}

/** A failure; `isPartial` means that payments on another network are unaffected. */
function tolerateIf(isPartial: boolean, message: string): ReadinessCheck {
  return isPartial ? { ok: false, message, tolerated: true } : { ok: false, message };
}

function describeMissing(missing: readonly SoldKind[], { error }: Pick<SupportedKinds, "error">): string {
  const byNetwork = [...Map.groupBy(missing, ({ network }) => network)];
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
