import { z } from "zod";
import { statusFigures, statusHeadline, statusNode, statusVerdict } from "#status/status-shapes.ts";
import type { VerdictLevel } from "#status/verdict.ts";
import type { PaymentFigures } from "./payment-figures.ts";

/** Level of a target: a verdict's, or `stale` if the target gives no answer. */
export type TargetLevel = VerdictLevel | "stale";

/** State of a target as its card shows it. Times are by this machine's clock. */
export type DescribedTarget = Readonly<{
  level: TargetLevel;
  state: string;
  cause: string;
  /** Start of this state, as the target reports it; undefined if it reports none. */
  sinceMs?: number;
  /** Whether the state began before `sinceMs`. */
  beganEarlier?: boolean | undefined;
  figures: Figures;
  /** Path of its own page. */
  page: "" | "readyz";
}>;

/** The figures of a card, as the status page has them, and payments. */
type Figures = Readonly<z.output<typeof statusFigures> & { payments?: PaymentFigures }>;

/** Most characters that are kept of a target's text: a card shows a sentence or two. */
const shownMax = 1_000;

/** Cuts a text to its beginning, as a copy: a slice would keep all of a long text in memory. */
function limitText(text: string): string {
  return text.length <= shownMax ? text : `${Buffer.from(text.slice(0, shownMax)).toString()}…`;
}

const shownText = z.string().transform(limitText);

/** A sidecar's or a gateway's status, as far as a card shows it. */
export const targetStatus = z.object({
  at: z.iso.datetime(),
  right: z.boolean(),
  node: statusNode.pick({ height: true, latencyMs: true, answers: true, answeredAt: true }),
  conditions: z.array(z.object({ status: z.string(), message: shownText })),
  verdict: statusVerdict.pick({ level: true }).optional(),
  headline: statusHeadline.extend({ state: shownText, cause: shownText }).optional(),
  figures: statusFigures
    .extend({ rpc: statusFigures.shape.rpc.unwrap().extend({ failure: shownText.optional() }).optional() })
    .optional(),
});

/** Answer of `/readyz`. */
export const targetReadiness = z.object({
  status: z.enum(["ok", "degraded", "unready"]),
  checks: z.record(z.string(), z.object({ ok: z.boolean(), message: z.string() })),
});

/** Describes a sidecar or a gateway for its card. Pure. */
export function describeNode(status: z.output<typeof targetStatus>, nowMs: number): DescribedTarget {
  const { headline, verdict } = status;
  const skewMs = nowMs - Date.parse(status.at);
  const shift = <Value extends Readonly<{ at: string }>>(value: Value | undefined) =>
    value && { ...value, at: new Date(Date.parse(value.at) + skewMs).toISOString() };
  if (headline === undefined || verdict === undefined || status.figures === undefined)
    return describeGateway(status, shift);
  const { lastBlock, rpc, gateway, disk, restarts } = status.figures;
  const { state, cause, since, beganEarlier } = headline;
  return {
    level: verdict.level,
    state,
    cause,
    ...(since === undefined ? {} : { sinceMs: Date.parse(since) + skewMs, beganEarlier }),
    figures: { lastBlock: shift(lastBlock), rpc: shift(rpc), gateway: shift(gateway), restarts, disk: shift(disk) },
    page: "",
  };
}

/** Describes a gateway that runs alone: it gives no verdict, so its conditions are judged. */
function describeGateway(
  { right, node, conditions }: z.output<typeof targetStatus>,
  shift: <Value extends Readonly<{ at: string }>>(value: Value | undefined) => Value | undefined,
): DescribedTarget {
  const { height, latencyMs, answers, answeredAt: at } = node;
  const wrong = conditions.find(({ status }) => status === "False");
  const passing = conditions.filter(({ status }) => status === "True").length;
  const old = !answers;
  return {
    level: right ? "right" : answers ? "wrong" : "down",
    state: right ? "Healthy" : answers ? "Serving, with a fault" : "Node down",
    cause: wrong?.message ?? `${passing} of ${conditions.length} checks pass.`,
    figures: {
      ...(height === undefined || at === undefined ? {} : { lastBlock: shift({ height, at, old }) }),
      ...(latencyMs === undefined || at === undefined ? {} : { rpc: shift({ latencyMs, at, old }) }),
    },
    page: "readyz",
  };
}

const readyWords = {
  ok: { level: "right", state: "Ready" },
  degraded: { level: "wrong", state: "Ready, with a fault" },
  unready: { level: "down", state: "Not ready" },
} as const;

/** Describes a service without a node for its card. Pure. */
export function describeService(
  { status, checks }: z.output<typeof targetReadiness>,
  payments: PaymentFigures | undefined,
): DescribedTarget {
  const failing = Object.entries(checks).filter(([, { ok }]) => !ok);
  const words = failing.map(([name, { message }]) => `${name}: ${message}`).join(" ");
  return {
    ...readyWords[status],
    cause: words === "" ? describePassing(Object.keys(checks).length) : limitText(words),
    figures: payments === undefined ? {} : { payments },
    page: "readyz",
  };
}

function describePassing(count: number): string {
  return count === 1 ? "Its check passes." : `All ${count} checks pass.`;
}
