import { z } from "zod";
import { getText, type GetResult } from "#daemon/http/send-request.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import { operatorPaths } from "#daemon/http/operator-paths.ts";
import { defaultSource, isCheckedService, type KnownService } from "./known-service.ts";

const configuration = z.object({
  service: z.string(),
  version: z.string(),
  settingsSha256: z.string().optional(),
  files: z.array(
    z.object({
      setting: z.string().optional(),
      path: z.string(),
      sha256: z.string().optional(),
      rejected: z.string().optional(),
    }),
  ),
});
const readiness = z.object({
  checks: z.record(z.string(), z.object({ ok: z.boolean(), message: z.string(), tolerated: z.boolean().optional() })),
});
const status = z.object({
  conditions: z.array(z.object({ type: z.string(), status: z.string(), reason: z.string(), message: z.string() })),
});

/** A service's raw responses, keyed by file name in the bundle; `status.json` only for a service that has a node. */
type Responses = Readonly<Record<"configuration.json" | "readyz.json" | "metrics.txt", GetResult<string>>> &
  Readonly<{ "status.json"?: GetResult<string> }>;

/** Limits of one request: time in ms, and response size in bytes. */
export const checkLimits = { timeoutMs: 5_000, responseBytesMax: 8 * 1_024 * 1_024 } as const;

/** What a service reports; each part is undefined if there is no usable response. */
export type ServiceReport = Readonly<{
  responses: Responses;
  configuration: z.output<typeof configuration> | undefined;
  readiness: z.output<typeof readiness> | undefined;
  status: z.output<typeof status> | undefined;
}>;

/** A service with its responses, which are undefined if its address is unknown. */
export type InspectedService = KnownService &
  Omit<ServiceReport, "responses"> &
  Partial<Pick<ServiceReport, "responses">>;

/** Names a service, with its address if several of its kind are inspected. */
export function formatServiceName({ service, url }: InspectedService, all: readonly InspectedService[]): string {
  const isAlone = all.filter((other) => other.service === service).length === 1;
  return isAlone || url === undefined ? service : `${service} ${new URL(url).host}`;
}

/** Requests everything that checks and bundles need from a service, once. */
export async function inspectService(known: KnownService): Promise<InspectedService> {
  const { url } = known;
  if (url === undefined) return { ...known, configuration: undefined, readiness: undefined, status: undefined };
  const report = await requestReport(url, known.service === "sidecar" || known.service === "gateway");
  // Sidecar and gateway share a default port.
  const reportedService = report.configuration?.service;
  const otherService =
    known.source === defaultSource && isCheckedService(reportedService) ? reportedService : undefined;
  return { ...known, ...report, service: otherService ?? known.service };
}

export async function requestReport(url: string, hasNode: boolean): Promise<ServiceReport> {
  const get = (path: string) => getText(new URL(path, url).href, checkLimits);
  const [used, ready, metrics, nodeStatus] = await Promise.all([
    get(operatorPaths.configuration),
    get(operatorPaths.ready),
    get(operatorPaths.metrics),
    hasNode ? get("/status") : undefined,
  ]);
  const responses = { "configuration.json": used, "readyz.json": ready, "metrics.txt": metrics };
  return {
    responses: nodeStatus === undefined ? responses : { ...responses, "status.json": nodeStatus },
    configuration: parseResponse(used, configuration),
    readiness: parseResponse(ready, readiness),
    status: nodeStatus && parseResponse(nodeStatus, status),
  };
}

function parseResponse<Shape>(got: GetResult<string>, shape: z.ZodType<Shape>): Shape | undefined {
  return got.ok ? shape.safeParse(parseJson(got.body)).data : undefined;
}
