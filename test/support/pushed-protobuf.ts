import { gzipSync } from "node:zlib";
import { encodeDelimited } from "#devnet/monitor/metric-family-message.ts";

/** Content type of Prometheus's protobuf format, as sent by its client libraries (Prometheus, "Exposition formats"). */
const protobuf = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/** Pushes a gauge under a job like a real node: as compressed protobuf. */
export async function pushProtobuf(
  url: string,
  { job, name, value }: Readonly<{ job: string; name: string; value: number }>,
): Promise<Response> {
  const family = { name, help: name, type: "GAUGE", metric: [{ label: [], gauge: { value } }] } as const;
  return fetch(`${url}/metrics/job/${job}`, {
    method: "PUT",
    headers: { "Content-Type": protobuf, "Content-Encoding": "gzip" },
    body: gzipSync(encodeDelimited(family)),
    signal: AbortSignal.timeout(10_000),
  });
}
