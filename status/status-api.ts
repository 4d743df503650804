import { z } from "zod";
import type { ApiOperation } from "#daemon/http/open-api.ts";
import { conditionTypes } from "./condition.ts";

const condition = z.object({
  type: z.enum(conditionTypes),
  title: z.string(),
  status: z.enum(["True", "False", "Unknown"]).describe("True is right"),
  reason: z.string(),
  message: z.string(),
  since: z.iso.datetime(),
});

const node = z.looseObject({
  name: z.string(),
  rpc: z.string().describe("Origin of its RPC"),
  height: z.number().optional(),
  latencyMs: z.number().optional(),
  chainId: z.number().optional(),
  clientVersion: z.string().optional(),
  syncing: z.unknown().optional().describe("What eth_syncing answered"),
  answers: z.boolean().describe("Whether the last look was answered"),
  answeredAt: z.iso.datetime().optional(),
});

const event = z.object({ at: z.iso.datetime(), kind: z.string(), message: z.string(), why: z.string().optional() });

/** `GET /status`, with the fields that a service has beside those of every node. */
export function describeStatusOperation(more: z.ZodRawShape = {}): ApiOperation {
  const body = z.looseObject({
    at: z.iso.datetime().describe("The service's own time"),
    right: z.boolean(),
    node,
    conditions: z.array(condition),
    events: z.array(event).describe("Newest first"),
    ...more,
  });
  return {
    method: "get",
    path: "/status",
    summary: "How the node is: verdict, conditions, events",
    answers: { 200: { description: "Everything that is known, as state has it", body } },
  };
}
