import { Registry, type Metric, type OpenMetricsContentType } from "prom-client";

/** The media type of Prometheus's text format with exemplars. */
export const openMetricsType = "application/openmetrics-text";

/** A metric as prom-client writes it; its declarations leave out the word for its type. */
type Written = Metric & Readonly<{ name: string; type: unknown }>;

/**
 * Writes a registry as OpenMetrics 1.0 text, in which a bucket may carry an exemplar. The registry's own `setContentType` renames its counters for good, so
 * that the plain format would be wrong from then on.
 */
export async function renderOpenMetrics(metrics: Registry): Promise<Readonly<{ text: string; contentType: string }>> {
  const open = new Registry<OpenMetricsContentType>();
  open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const metric of metrics.getMetricsAsArray() as unknown as readonly Written[]) {
    open.registerMetric(metric.type === "counter" ? nameByFamily(metric) : metric);
  }
  return { text: await open.metrics(), contentType: open.contentType };
}

/** Names a counter as its family: OpenMetrics takes `_total` for a suffix, which prom-client puts back. */
function nameByFamily(counter: Written): Metric {
  const get = async () => {
    const values = await counter.get();
    return { ...values, name: values.name.replace(/_total$/, "") };
  };
  return { name: counter.name, get } as unknown as Metric;
}
