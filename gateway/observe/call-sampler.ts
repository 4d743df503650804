import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  type Sampler,
} from "@opentelemetry/sdk-trace-base";

/**
 * Chooses the traces of which spans are made. A share of the public listener's, by trace id, whatever its callers ask for:
 * anyone could ask for all. The other listeners' callers may ask for a trace by the sampled flag of their `traceparent`.
 */
export function callSampler(sampleRatio: number): Sampler {
  const share = new TraceIdRatioBasedSampler(sampleRatio);
  const asked = new AlwaysOnSampler();
  return new ParentBasedSampler({
    root: share,
    remoteParentNotSampled: new AlwaysOffSampler(),
    remoteParentSampled: {
      shouldSample: (context, traceId, _name, _kind, attributes) =>
        attributes["gatehouse.listener"] === "public" ? share.shouldSample(context, traceId) : asked.shouldSample(),
      toString: () => "ByListener",
    },
  });
}
