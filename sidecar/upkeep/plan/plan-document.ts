import { z } from "zod";

const reason = z.string().describe("Human-readable reason");
const key = z.string().describe("key of chain.monitor_config");
const monitorValue = z.union([z.string(), z.number(), z.boolean()]);

const change = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("create"), value: z.record(z.string(), z.unknown()).readonly(), reason }).readonly(),
  z.strictObject({ kind: z.literal("insert"), key, value: monitorValue, reason }).readonly(),
  z
    .strictObject({
      kind: z.literal("set"),
      key,
      value: monitorValue,
      from: z.unknown().describe("Current value"),
      reason,
    })
    .readonly(),
  z.strictObject({ kind: z.literal("rename"), key, to: z.string(), reason }).readonly(),
  z.strictObject({ kind: z.literal("remove"), key, reason }).readonly(),
]);

/** Document printed by `gatehouse config plan --json`. Within a major version, fields are only added, never renamed or removed. */
export const planDocument = z
  .strictObject({
    configPath: z.string().describe("As specified"),
    nodeVersion: z.string().describe("As specified"),
    drift: z
      .boolean()
      .nullable()
      .describe("Whether the file differs from the desired settings; null: it could not be read"),
    written: z.boolean().describe("whether --write applied the changes"),
    changes: z.array(change).readonly(),
    problems: z
      .array(z.strictObject({ reason: z.string(), message: z.string() }).readonly())
      .readonly()
      .describe("Why desired settings can't be planned; the exit status is then 1"),
    warning: z.string().optional().describe("What is lost by applying the changes"),
    diff: z.string().describe("unified diff; empty without changes"),
  })
  .readonly();

export type PlanDocument = z.output<typeof planDocument>;
