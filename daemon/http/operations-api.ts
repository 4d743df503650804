import { z } from "zod";
import { operatorPaths } from "./operator-paths.ts";
import { type ActiveConfiguration, openMetricsType } from "./operations-listener.ts";
import type { ApiOperation } from "./open-api.ts";
import type { ReadinessCheck } from "./readiness.ts";

/** A check in the responses of `/readyz` and `/startupz`. */
export const checkBodySchema = z.object({
  ok: z.boolean(),
  message: z.string(),
  tolerated: z.boolean().exactOptional().describe("True for a failure that does not affect readiness"),
}) satisfies z.ZodType<ReadinessCheck>;

const checks = z.record(z.string(), checkBodySchema);

const configurationBody = z.object({
  service: z.string(),
  version: z.string(),
  settingsSha256: z.string().describe("Digest of the environment the service was started with"),
  files: z.array(
    z.object({
      setting: z.string(),
      path: z.string(),
      sha256: z.string(),
      readAt: z.string().describe("ISO 8601"),
      rejected: z.string().exactOptional().describe("Why the current file content was rejected"),
    }),
  ),
}) satisfies z.ZodType<ActiveConfiguration>;

export const operationsApi: readonly ApiOperation[] = [
  {
    method: "get",
    path: operatorPaths.live,
    summary: "Liveness",
    responses: { 200: { description: "The process is running", body: z.object({ status: z.literal("ok") }) } },
  },
  {
    method: "get",
    path: operatorPaths.ready,
    summary: "Readiness for traffic",
    responses: {
      200: {
        description: "Ready; degraded if a check fails that the service can temporarily do without",
        body: z.object({ status: z.enum(["ok", "degraded"]), checks }),
      },
      503: { description: "Not ready", body: z.object({ status: z.literal("unready"), checks }) },
    },
  },
  {
    method: "get",
    path: operatorPaths.configuration,
    summary: "Digests of the active settings and files",
    responses: { 200: { description: "Digests, no values", body: configurationBody } },
  },
  {
    method: "get",
    path: operatorPaths.metrics,
    summary: "Prometheus metrics",
    responses: {
      200: {
        description: "Prometheus text format; a gateway with tracing also serves OpenMetrics with exemplars, by Accept",
        text: ["text/plain", openMetricsType],
      },
    },
  },
];
