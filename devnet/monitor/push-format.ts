import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Registry } from "prom-client";
import type { NodeProfile } from "../node-profile.ts";

/** What one push carries. */
export type PushedMetrics = Readonly<{ headers: Readonly<Record<string, string>>; body: string | Buffer<ArrayBuffer> }>;

/** Prints a registry for a push, as it is now. */
export type PushFormat = (metrics: Registry) => Promise<PushedMetrics>;

/** Content type of Prometheus's protobuf format (Prometheus, "Exposition formats"). */
const protobufType = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/** How a node of a profile pushes: a strict one as Prometheus's Go client does, and compressed. */
export async function pushFormatOf(profile: NodeProfile): Promise<PushFormat> {
  if (profile === "standard") return textFormat;
  // Loaded where it is used: a standard node does without the library.
  const { metricFamilies } = await import("./metric-families.ts");
  const { encodeDelimited } = await import("./metric-family-message.ts");
  return async (metrics) => {
    const families = metricFamilies(await metrics.getMetricsAsJSON());
    const body = await promisify(gzip)(Buffer.concat(families.map(encodeDelimited)));
    return { headers: { "content-type": protobufType, "content-encoding": "gzip" }, body };
  };
}

/** Prometheus's text format. */
const textFormat: PushFormat = async (metrics) => ({
  headers: { "content-type": metrics.contentType },
  body: await metrics.metrics(),
});
