import { Registry, type Metric, type OpenMetricsContentType } from "prom-client";

/** The media type of Prometheus's text format with exemplars. */
export const openMetricsType = "application/openmetrics-text";

/** A metric as prom-client serializes it; its declarations omit the type. */
type Written = Metric & Readonly<{ name: string; type: unknown }>;

/** Renders a registry as OpenMetrics, with exemplars. Its own `setContentType` would rename the counters of the plain format, too. */
export async function renderOpenMetrics(metrics: Registry): Promise<Readonly<{ text: string; contentType: string }>> {
  const open = new Registry<OpenMetricsContentType>();
  open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const metric of metrics.getMetricsAsArray() as unknown as readonly Written[]) {
    open.registerMetric(metric.type === "counter" ? nameByFamily(metric) : metric);
  }
  return { text: await open.metrics(), contentType: open.contentType };
}

/** Renames a counter to its family name: OpenMetrics treats `_total` as a suffix, which prom-client adds again. */
function nameByFamily(counter: Written): Metric {
  const get = async () => {
    const values = await counter.get();
    return { ...values, name: values.name.replace(/_total$/, "") };
  };
  return { name: counter.name, get } as unknown as Metric;
}
