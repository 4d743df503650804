import { z } from "zod";
import type { ApiOperation } from "#daemon/http/open-api.ts";
import { conditionTypes } from "./condition.ts";
import { statusNode } from "./status-shapes.ts";

const condition = z.object({
  type: z.enum(conditionTypes),
  title: z.string(),
  status: z.enum(["True", "False", "Unknown"]).describe("True is right"),
  reason: z.string(),
  message: z.string(),
  since: z.iso.datetime(),
});

const event = z.object({ at: z.iso.datetime(), kind: z.string(), message: z.string(), why: z.string().optional() });

/** Describes `GET /status`, with a service's fields besides those of every node. */
export function describeStatusOperation(more: z.ZodRawShape = {}): ApiOperation {
  const body = z.looseObject({
    at: z.iso.datetime().describe("The service's own time"),
    right: z.boolean(),
    node: z.looseObject(statusNode.shape),
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
