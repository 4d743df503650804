import type { IncomingHttpHeaders } from "node:http";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Logger } from "#daemon/log/log.ts";

/** Difference from the facilitator's clock above which validity times and access tokens are wrong for buyers. */
const differenceMaxMs = 60_000;

export type ClockComparison = Readonly<{
  /** Compares the clock with a response's `Date`; ignores a response without one, or from a cache. */
  note: (headers: IncomingHttpHeaders, sentAtMs: number) => void;
  /** Undefined until a response had a `Date`. */
  check: () => ReadinessCheck | undefined;
}>;

/** Compares this process's clock with the facilitator's, which judges payments, and logs each change. */
export function compareClocks({ clock, log }: Readonly<{ clock: () => number; log: Logger }>): ClockComparison {
  let lastCheck: ReadinessCheck | undefined;
  return {
    note: ({ date, age }, sentAtMs) => {
      const theirMs = Date.parse(date ?? "");
      if (Number.isNaN(theirMs) || age !== undefined) return;
      const wasWrong = lastCheck?.ok === false;
      // The facilitator responded between sentAtMs and now; only a time outside of that interval is a clock error.
      const aheadMs = sentAtMs - theirMs;
      const behindMs = theirMs - clock();
      if (Math.max(aheadMs, behindMs) <= differenceMaxMs) {
        lastCheck = { ok: true, message: "agrees with the facilitator's" };
        if (wasWrong) log.info({ event: "clock-corrected" }, "the clock agrees with the facilitator's again");
        return;
      }
      const [differenceMs, side] = aheadMs > 0 ? [aheadMs, "ahead of"] : [behindMs, "behind"];
      const problem = `this server's clock is ${Math.round(differenceMs / 1_000)} s ${side} the facilitator's, so it misjudges when payments and access tokens expire; correct it (timedatectl set-ntp true), or the facilitator's`;
      lastCheck = { ok: false, message: problem, tolerated: true };
      if (!wasWrong) log.warn({ event: "clock-wrong", problem }, problem);
    },
    check: () => lastCheck,
  };
}
