import { z } from "zod";
import { verdictLevels, type VerdictLevel } from "./verdict.ts";

export const statusNode = z.object({
  name: z.string(),
  rpc: z.string().describe("Origin of its RPC endpoint"),
  height: z.number().optional(),
  latencyMs: z.number().optional(),
  chainId: z.number().optional(),
  clientVersion: z.string().optional(),
  binaryVersion: z
    .string()
    .optional()
    .describe("debug_protocolVersion of the running node; absent if it reports no version"),
  syncing: z.unknown().optional().describe("Response to eth_syncing"),
  answers: z.boolean().describe("Whether the last check got a response"),
  answeredAt: z.iso.datetime().optional(),
});

export const statusVerdict = z.object({ level: z.enum(verdictLevels) });

export const statusCondition = z.object({
  type: z.string(),
  title: z.string(),
  status: z.enum(["True", "False", "Unknown"]),
  reason: z.string(),
  message: z.string(),
  since: z.iso.datetime(),
});

export const statusHeadline = z.object({
  state: z.string().describe("Two or three words, e.g. Healthy or Node down"),
  cause: z.string(),
  since: z.iso.datetime().optional(),
  beganEarlier: z.boolean().optional().describe("Whether this was already the case when the sidecar started"),
});

const dated = { at: z.iso.datetime(), old: z.boolean() };

/** Payments that a facilitator or a resource server counted in the last hour, or in the part of it that was observed. */
export const statusPayments = z.object({
  service: z.string(),
  pending: z.number(),
  settled: z.number(),
  rejected: z.array(z.object({ reason: z.string(), count: z.number() })).describe("Most frequent first"),
  unpaid: z.number().describe("Requests without a payment, which got 402"),
  overMs: z.number().describe("Time span of the counts"),
  balances: z
    .array(
      z.object({
        network: z.string(),
        signer: z.string(),
        balance: z.number(),
        days: z.number().optional().describe("Days until the balance runs out at the rate over that time span"),
      }),
    )
    .describe("Balance for gas of each signer, on each network"),
});

/** The figures in a `/status` response; unknown figures are absent. */
export const statusFigures = z.object({
  lastBlock: z.object({ height: z.number(), ...dated }).optional(),
  rpc: z.object({ latencyMs: z.number().optional(), failure: z.string().optional(), ...dated }).optional(),
  gateway: z
    .object({ requestsPerSecond: z.number(), errorRatio: z.number(), limitedPerSecond: z.number(), ...dated })
    .optional(),
  restarts: z.object({ left: z.number(), perHour: z.number() }).optional(),
  disk: z.object({ freeRatio: z.number(), freeBytes: z.number(), ...dated }).optional(),
  payments: statusPayments.optional(),
});

/** Returns whether a `/status` requires no action from an operator. Pure. */
export function needsNoAction({
  healthy,
  verdict,
}: Readonly<{ healthy: boolean; verdict: { level: VerdictLevel } }>): boolean {
  return healthy && verdict.level === "healthy";
}
