import { z } from "zod";
import type { ApiOperation } from "#daemon/http/open-api.ts";
import { conditionTypes } from "./condition.ts";
import { statusCondition, statusHeadline, statusNode, statusPayments, statusVerdict } from "./status-shapes.ts";

const condition = statusCondition.extend({
  type: z.enum(conditionTypes),
  status: statusCondition.shape.status.describe("True is healthy"),
});

const event = z.object({ at: z.iso.datetime(), kind: z.string(), message: z.string(), why: z.string().optional() });

const failure = z.object({ type: z.string(), reason: z.string(), title: z.string(), message: z.string() });

const incident = failure.extend({
  severity: z.enum(["critical", "working", "warning", "unknown"]),
  since: z.iso.datetime(),
  steps: z.array(z.object({ text: z.string(), command: z.string().optional() })).describe("Steps to take, in order"),
  runbook: z.string().optional().describe("Path of the runbook on this listener"),
  consequences: z.array(failure).describe("Consequences of the incident"),
});

const links = {
  pages: z.array(z.object({ name: z.string(), url: z.string() })).describe("Links on the status page"),
};

/** Fields in a node's `/status` that its page uses. */
export const nodePageShape = {
  ...links,
  verdict: statusVerdict,
  headline: statusHeadline,
  incidents: z.array(incident).describe("One per root cause, most urgent first"),
};

export const pageOperation: ApiOperation = {
  method: "get",
  path: "/",
  summary: "The status page",
  responses: { 200: { description: "HTML; its assets are under /page/", text: "text/html" } },
};

/** The page for a service without a node, and its data source. */
export const servicePageApi: readonly ApiOperation[] = [
  {
    method: "get",
    path: "/status",
    summary: "The service's state, and the payments of the last hour",
    responses: {
      200: {
        description: "The state shown on its page",
        body: z.object({
          ...links,
          at: z.iso.datetime(),
          service: z.string(),
          tags: z.array(z.string()),
          healthy: z.boolean(),
          verdict: statusVerdict,
          headline: statusHeadline,
          conditions: z.array(condition.pick({ title: true, status: true, message: true })),
          figures: z.object({ payments: statusPayments }),
          buyers: z
            .object({ typescript: z.string(), python: z.string() })
            .optional()
            .describe("For sellers: the settings with which unmodified x402 clients pay here"),
        }),
      },
    },
  },
  pageOperation,
];

/** Describes `GET /status`, with a service's fields in addition to those that every node has. */
export function describeStatusOperation(more: z.ZodRawShape = {}): ApiOperation {
  const body = z.looseObject({
    at: z.iso.datetime().describe("Service time"),
    healthy: z.boolean(),
    node: z.looseObject(statusNode.shape),
    conditions: z.array(condition),
    events: z.array(event).describe("Newest first"),
    ...more,
  });
  return {
    method: "get",
    path: "/status",
    summary: "The node's state: verdict, conditions, events",
    responses: { 200: { description: "The complete state", body } },
  };
}
