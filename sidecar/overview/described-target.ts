import { z } from "zod";
import { statusFigures, statusHeadline, statusPayments, statusVerdict } from "#status/status-shapes.ts";
import type { VerdictLevel } from "#status/verdict.ts";

/** Level of a target: a verdict's, or `stale` if the target does not respond. */
export type TargetLevel = VerdictLevel | "stale";

/** A target's state, for its card. Times are measured by this machine's clock. */
export type TargetCard = Readonly<{
  level: TargetLevel;
  state: string;
  cause: string;
  /** Time at which this state started, as reported by the target; undefined if it reports none. */
  sinceMs?: number;
  /** Whether the state started before `sinceMs`. */
  beganEarlier?: boolean | undefined;
  figures: Readonly<z.output<typeof statusFigures>>;
}>;

/** Max characters kept from a target's text: a card shows a sentence or two. */
const shownMax = 1_000;

/** Truncates a text to a copy: a slice would keep the whole original text in memory. */
function limitText(text: string): string {
  return text.length <= shownMax ? text : `${Buffer.from(text.slice(0, shownMax)).toString()}…`;
}

const shownText = z.string().transform(limitText);

/** The fields from a service's status that a card shows. */
export const targetStatus = z.object({
  at: z.iso.datetime(),
  verdict: statusVerdict.pick({ level: true }),
  headline: statusHeadline.extend({ state: shownText, cause: shownText }),
  figures: statusFigures.extend({
    rpc: statusFigures.shape.rpc.unwrap().extend({ failure: shownText.optional() }).optional(),
    payments: statusPayments
      .extend({
        service: shownText,
        balances: statusPayments.shape.balances.max(64).default([]),
        refused: statusPayments.shape.refused.max(64),
      })
      .optional(),
  }),
});

/** Describes a service for its card. Pure. */
export function describeTarget(
  { at, verdict, headline, figures }: z.output<typeof targetStatus>,
  nowMs: number,
): TargetCard {
  const skewMs = nowMs - Date.parse(at);
  const shift = <Value extends Readonly<{ at: string }>>(value: Value | undefined) =>
    value && { ...value, at: new Date(Date.parse(value.at) + skewMs).toISOString() };
  const { lastBlock, rpc, gateway, disk, restarts, payments } = figures;
  const { state, cause, since, beganEarlier } = headline;
  return {
    level: verdict.level,
    state,
    cause,
    ...(since === undefined ? {} : { sinceMs: Date.parse(since) + skewMs, beganEarlier }),
    figures: {
      lastBlock: shift(lastBlock),
      rpc: shift(rpc),
      gateway: shift(gateway),
      restarts,
      disk: shift(disk),
      payments,
    },
  };
}
