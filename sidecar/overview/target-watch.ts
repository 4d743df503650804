import type { Clock } from "#daemon/clock.ts";
import { getJson } from "#daemon/http/send-request.ts";
import type { Logger } from "#daemon/log/log.ts";
import { poll } from "#daemon/time.ts";
import type { Target } from "./targets.ts";
import { z } from "zod";
import { statusFigures, statusHeadline, statusPayments, statusVerdict } from "#status/status-shapes.ts";
import type { VerdictLevel } from "#status/verdict.ts";

export type DisplayedTarget = Omit<TargetCard, "sinceMs"> &
  Readonly<{
    name: string;
    page: string;
    answers: boolean;
    since: string;
    beganEarlier: boolean;
  }>;

type TargetWatch = AsyncDisposable & Readonly<{ current: () => DisplayedTarget }>;

const checkIntervalMs = 5_000;
/** Limits for one poll. The response limit is several times larger than any service's real response, and up to sixty-four responses may arrive at once. */
const limits = { timeoutMs: 4_000, responseBytesMax: 1_048_576 } as const;

type TargetResponse = Readonly<{ ok: true; described: TargetCard } | { ok: false; why: string }>;

const initialCard: TargetCard = { level: "unknown", state: "Not queried yet", cause: "", figures: {} };

export function watchTarget(
  target: Target,
  { clock, log }: Readonly<{ clock: Pick<Clock, "wallMs">; log: Pick<Logger, "error"> }>,
): TargetWatch {
  const beganMs = clock.wallMs();
  let answeredAtMs: number | undefined;
  let seen: Readonly<{ described: TargetCard; answers: boolean; sinceMs: number; beganEarlier: boolean }> = {
    described: initialCard,
    answers: false,
    sinceMs: beganMs,
    beganEarlier: true,
  };
  const note = (card: TargetCard, answers: boolean) => {
    const nowMs = clock.wallMs();
    const isSame = seen.described.state === card.state;
    const isFirst = seen.described === initialCard;
    const noticedMs = isFirst ? beganMs : answers ? nowMs : (answeredAtMs ?? nowMs);
    const start = isSame
      ? { sinceMs: seen.sinceMs, beganEarlier: seen.beganEarlier }
      : { sinceMs: noticedMs, beganEarlier: isFirst };
    const { sinceMs, beganEarlier = false } = card;
    seen = { described: card, answers, ...start, ...(sinceMs === undefined ? {} : { sinceMs, beganEarlier }) };
    if (answers) answeredAtMs = nowMs;
  };
  // The card keeps the last known figures, marked as stale.
  const noteStale = (cause: string) => {
    const { figures } = seen.described;
    note({ level: "stale" satisfies TargetLevel, state: "Not responding", cause, figures }, false);
  };
  const checkTarget = async () => {
    const found = await requestTarget(target, clock);
    if (found.ok) note(found.described, true);
    else noteStale(found.why);
  };
  const failed = (error: unknown) => noteStale(`The check failed: ${String(error)}.`);
  const polling = poll({ name: `overview of ${target.name}`, failed, intervalMs: checkIntervalMs }, checkTarget, {
    log,
  });
  return {
    current: () => {
      const { sinceMs: _, ...card } = seen.described;
      const { answers, sinceMs, beganEarlier } = seen;
      const since = new Date(sinceMs).toISOString();
      return { ...card, name: target.name, page: target.shownUrl, answers, since, beganEarlier };
    },
    [Symbol.asyncDispose]: () => polling[Symbol.asyncDispose](),
  };
}

async function requestTarget({ url }: Target, clock: Pick<Clock, "wallMs">): Promise<TargetResponse> {
  const status = await getJson(new URL("/status", url).href, limits);
  if (!status.ok) return { ok: false, why: `It can't be queried (${status.why}).` };
  const found = targetStatus.safeParse(status.body);
  if (found.success) return { ok: true, described: describeTarget(found.data, clock.wallMs()) };
  if (status.status !== 404) return { ok: false, why: `/status returned HTTP ${status.status} without a status.` };
  return {
    ok: false,
    why: "This is not a Gatehouse admin port (operations.port or listen.port).",
  };
}

type TargetLevel = VerdictLevel | "stale";

/** A target's state, for its card. Times are measured by this machine's clock. */
type TargetCard = Readonly<{
  level: TargetLevel;
  state: string;
  cause: string;
  /** Start of this state, as reported by the target; undefined if it reports none. */
  sinceMs?: number;
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
        rejected: statusPayments.shape.rejected.max(64),
      })
      .optional(),
  }),
});

export function describeTarget(
  { at, verdict, headline, figures }: z.output<typeof targetStatus>,
  nowMs: number,
): TargetCard {
  const skewMs = nowMs - Date.parse(at);
  const toLocalTime = <Value extends Readonly<{ at: string }>>(value: Value | undefined) =>
    value && { ...value, at: new Date(Date.parse(value.at) + skewMs).toISOString() };
  const { lastBlock, rpc, gateway, disk, restarts, payments } = figures;
  const { state, cause, since, beganEarlier } = headline;
  return {
    level: verdict.level,
    state,
    cause,
    ...(since === undefined ? {} : { sinceMs: Date.parse(since) + skewMs, beganEarlier }),
    figures: {
      lastBlock: toLocalTime(lastBlock),
      rpc: toLocalTime(rpc),
      gateway: toLocalTime(gateway),
      restarts,
      disk: toLocalTime(disk),
      payments,
    },
  };
}
