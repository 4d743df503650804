import { z } from "zod";
import { statusCondition, statusFigures, statusHeadline, statusNode, statusVerdict } from "../status-shapes.ts";

const rates = z.object({ requests: z.number(), errors: z.number(), limited: z.number() });
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

const traffic = z.object({
  total: rates,
  byMethod: z.array(rates.extend({ method: z.string() })),
  byTier: z.array(rates.extend({ tier: z.string() })),
  limited: z.array(z.object({ tier: z.string(), limit: z.string(), perMinute: z.number() })),
});

/** Fields of a status that `gatehouse top` reads; a gateway alone has no verdict, figures or traffic. */
export const topStatus = z.object({
  at: z.iso.datetime(),
  right: z.boolean(),
  node: statusNode.pick({
    name: true,
    rpc: true,
    height: true,
    latencyMs: true,
    clientVersion: true,
    answers: true,
  }),
  verdict: statusVerdict.optional(),
  headline: statusHeadline.optional(),
  conditions: z.array(statusCondition),
  incidents: z.array(incident).optional(),
  figures: statusFigures.default({}),
  traffic: traffic.optional(),
});

export type TopStatus = Readonly<z.output<typeof topStatus>>;
