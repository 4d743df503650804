import { z } from "zod";
import { renderDashboards } from "#infra/observability/dashboards.ts";
import { placeholderRunbooks } from "#infra/observability/rules.ts";

const link = z.looseObject({ title: z.string(), url: z.string().optional() });

const panel = z.looseObject({
  id: z.int(),
  type: z.enum(["row", "timeseries", "stat", "state-timeline"]),
  title: z.string(),
  description: z.string().default(""),
  gridPos: z.strictObject({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
  links: z.array(link).default([]),
  targets: z.array(z.looseObject({ expr: z.string(), legendFormat: z.string() })).default([]),
});

/** The parts of a Grafana dashboard that tests read. */
export const dashboardSchema = z.looseObject({
  uid: z.string(),
  title: z.string(),
  schemaVersion: z.int(),
  links: z.array(link),
  annotations: z.looseObject({ list: z.array(z.looseObject({ expr: z.string() })) }),
  templating: z.looseObject({ list: z.array(z.looseObject({ name: z.string(), regex: z.string().optional() })) }),
  panels: z.array(panel),
});

/** The repository's dashboards. */
export const dashboards = renderDashboards({ runbookBaseUrl: placeholderRunbooks }).map(({ text }) =>
  dashboardSchema.parse(JSON.parse(text)),
);

/** Their panels, without row headings. */
export const panels = dashboards.flatMap((dashboard) =>
  dashboard.panels.filter(({ type }) => type !== "row").map((one) => ({ ...one, dashboard: dashboard.title })),
);
