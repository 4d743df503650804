import type { Logger } from "#daemon/log.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { SupportedKinds } from "./facilitator-answer.ts";
import { onceFit } from "./once-fit.ts";
import { backgroundPause, poll } from "#daemon/time.ts";

/** Pause between two looks while the facilitator is fit, and while it is not. */
const fitPauseMs = 10_000;
const unfitPauseMs = 500;

/** Knows whether a facilitator can be used, without asking it. */
export type FacilitatorWatch = AsyncDisposable & Readonly<{ readiness: () => ReadinessCheck }>;

/**
 * Looks from time to time whether a facilitator answers `/supported` with the schemes on the network; logs each change. Once it was fit, a
 * failure is tolerated ({@link onceFit}).
 */
export function watchFacilitator(
  { network, schemes }: Readonly<{ network: string; schemes: readonly string[] }>,
  { log, supported }: Readonly<{ log: Logger; supported: () => Promise<SupportedKinds> }>,
): FacilitatorWatch {
  const stop = new AbortController();
  let state: ReadinessCheck = { ok: false, message: "not asked yet" };
  const followed = onceFit();

  async function look(): Promise<ReadinessCheck> {
    try {
      const { kinds } = await supported();
      const settled = kinds.filter((kind) => kind.x402Version === 2 && kind.network === network);
      const missing = schemes.filter((name) => settled.every(({ scheme }) => scheme !== name));
      if (missing.length === 0) return { ok: true, message: "answers" };
      return { ok: false, message: `does not settle ${missing.join(" and ")} on ${network}` };
    } catch (error) {
      return { ok: false, message: error instanceof Error ? error.message : String(error) };
    }
  }

  async function lookAndLog(): Promise<void> {
    const next = await look();
    if (next.ok !== state.ok || next.message !== state.message) {
      log[next.ok ? "info" : "warn"]({ check: next.message }, next.ok ? "facilitator is fit" : "facilitator is unfit");
    }
    state = followed(next);
  }

  const intervalMs = () => (state.ok ? fitPauseMs : unfitPauseMs);
  const options = { name: "facilitator watch", intervalMs, signal: stop.signal };
  const watching = poll(options, lookAndLog, { log, pause: backgroundPause });
  return {
    readiness: () => state,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await watching;
    },
  };
}
