import { z } from "zod";
import { verdictLevels } from "../verdict.ts";

const rates = z.object({ requests: z.number(), errors: z.number(), limited: z.number() });
const dated = { at: z.iso.datetime(), old: z.boolean() };

const step = z.object({ text: z.string(), command: z.string().optional() });

const incident = z.object({
  severity: z.string(),
  type: z.string(),
  reason: z.string(),
  title: z.string(),
  message: z.string(),
  since: z.iso.datetime(),
  steps: z.array(step),
  consequences: z.array(z.object({ title: z.string() })),
});

const condition = z.object({
  type: z.string(),
  title: z.string(),
  status: z.enum(["True", "False", "Unknown"]),
  reason: z.string(),
  message: z.string(),
  since: z.iso.datetime(),
});

const figures = z.object({
  lastBlock: z.object({ height: z.number(), ...dated }).optional(),
  rpc: z.object({ latencyMs: z.number().optional(), failure: z.string().optional(), ...dated }).optional(),
  gateway: z
    .object({ requestsPerSecond: z.number(), errorRatio: z.number(), limitedPerSecond: z.number(), ...dated })
    .optional(),
  restarts: z.object({ left: z.number(), perHour: z.number() }).optional(),
  disk: z.object({ freeRatio: z.number(), freeBytes: z.number(), ...dated }).optional(),
});

const traffic = z.object({
  total: rates,
  byMethod: z.array(rates.extend({ method: z.string() })),
  byTier: z.array(rates.extend({ tier: z.string() })),
  limited: z.array(z.object({ tier: z.string(), limit: z.string(), perMinute: z.number() })),
});

/** What `gatehouse top` reads of a status; a gateway alone tells no verdict, figures and traffic. */
export const topStatus = z.object({
  at: z.iso.datetime(),
  right: z.boolean(),
  node: z.object({
    name: z.string(),
    rpc: z.string(),
    height: z.number().optional(),
    latencyMs: z.number().optional(),
    clientVersion: z.string().optional(),
    answers: z.boolean(),
  }),
  verdict: z.object({ level: z.enum(verdictLevels), title: z.string(), message: z.string() }).optional(),
  headline: z
    .object({
      state: z.string(),
      cause: z.string(),
      since: z.iso.datetime().optional(),
      beganEarlier: z.boolean().optional(),
    })
    .optional(),
  conditions: z.array(condition),
  incidents: z.array(incident).optional(),
  figures: figures.default({}),
  traffic: traffic.optional(),
});

export type TopStatus = Readonly<z.output<typeof topStatus>>;

/** Whether a person has nothing to do. */
export function isRight({ right, verdict }: TopStatus): boolean {
  return right && (verdict === undefined || verdict.level === "right");
}
