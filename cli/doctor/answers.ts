import { z } from "zod";
import { getText, type GetResult } from "#daemon/http/get.ts";
import { parseJson } from "#daemon/json-rpc.ts";
import { operatorPaths } from "#daemon/http/operator-paths.ts";
import { defaultSource, isCheckedService, type KnownService } from "./known-service.ts";

/** Configuration that a service reports. */
const inUse = z.object({
  service: z.string(),
  version: z.string(),
  files: z.array(z.object({ setting: z.string(), path: z.string(), refused: z.string().optional() })),
});
/** A service's response at `/readyz`. */
export const readiness = z.object({
  checks: z.record(z.string(), z.object({ ok: z.boolean(), message: z.string(), tolerated: z.boolean().optional() })),
});
/** Fields read from the `/status` of a service that has a node. */
export const status = z.object({
  conditions: z.array(z.object({ type: z.string(), status: z.string(), reason: z.string(), message: z.string() })),
});

/** A service's raw responses, keyed by file name in the bundle. */
type Answers = Readonly<{
  "configuration.json": GetResult<string>;
  "readyz.json": GetResult<string>;
  "metrics.txt": GetResult<string>;
  /** Only for a service that has a node. */
  "status.json"?: GetResult<string>;
}>;

/** Limits of one request: time in ms, and response size in bytes. */
export const checkLimits = { timeoutMs: 5_000, answerBytesMax: 8 * 1_024 * 1_024 } as const;

/** A service with its responses. */
export type InspectedService = KnownService &
  Readonly<{
    /** The service's raw responses; undefined if its address is unknown. */
    answers: Answers | undefined;
    configuration: z.output<typeof inUse> | undefined;
    readiness: z.output<typeof readiness> | undefined;
    status: z.output<typeof status> | undefined;
  }>;

/** Requests everything that checks and bundles need from a service, once. */
export async function inspectService(known: KnownService): Promise<InspectedService> {
  const { url } = known;
  const nothing = { configuration: undefined, readiness: undefined, status: undefined };
  if (url === undefined) {
    return { ...known, ...nothing, answers: undefined };
  }
  const get = (path: string) => getText(new URL(path, url).href, checkLimits);
  const hasNode = known.service === "sidecar" || known.service === "gateway";
  const [configuration, ready, metrics, nodeStatus] = await Promise.all([
    get(operatorPaths.configuration),
    get(operatorPaths.ready),
    get(operatorPaths.metrics),
    hasNode ? get("/status") : undefined,
  ]);
  const answers = {
    "configuration.json": configuration,
    "readyz.json": ready,
    "metrics.txt": metrics,
    ...(nodeStatus === undefined ? {} : { "status.json": nodeStatus }),
  };
  const used = parseAnswer(configuration, inUse);
  // Sidecar and gateway share a default port.
  const another = known.source === defaultSource && isCheckedService(used?.service) ? used.service : undefined;
  return {
    ...known,
    service: another ?? known.service,
    answers,
    configuration: used,
    readiness: parseAnswer(ready, readiness),
    status: nodeStatus && parseAnswer(nodeStatus, status),
  };
}

function parseAnswer<Shape>(got: GetResult<string>, shape: z.ZodType<Shape>): Shape | undefined {
  return got.ok ? shape.safeParse(parseJson(got.body)).data : undefined;
}
