import { gzipSync } from "node:zlib";

/** Content type of Prometheus's protobuf format, as its client libraries send it (Prometheus, "Exposition formats"). */
const protobuf = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/** A field whose value has a length: text, or a message (Protocol Buffers, "Encoding": wire type 2). */
function lengthDelimited(field: number, value: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([(field << 3) | 2, value.length]), value]);
}

/** A gauge as a delimited `io.prometheus.client.MetricFamily`, shorter than 128 bytes, so that every length is one byte. */
function gaugeFamily(name: string, value: number): Buffer {
  const double = Buffer.alloc(8);
  double.writeDoubleLE(value);
  const gauge = Buffer.concat([Buffer.from([(1 << 3) | 1]), double]);
  const metric = lengthDelimited(2, gauge);
  const typeGauge = Buffer.from([3 << 3, 1]);
  const family = Buffer.concat([lengthDelimited(1, Buffer.from(name)), typeGauge, lengthDelimited(4, metric)]);
  return Buffer.concat([Buffer.from([family.length]), family]);
}

/** Puts a gauge under a job as a node of the field does: protobuf, and that compressed. */
export async function pushProtobuf(
  url: string,
  { job, name, value }: Readonly<{ job: string; name: string; value: number }>,
): Promise<Response> {
  return fetch(`${url}/metrics/job/${job}`, {
    method: "PUT",
    headers: { "Content-Type": protobuf, "Content-Encoding": "gzip" },
    body: gzipSync(gaugeFamily(name, value)),
    signal: AbortSignal.timeout(10_000),
  });
}
