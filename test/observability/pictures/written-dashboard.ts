import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A drawn part of a Grafana dashboard. */
export type WrittenDashboard = Readonly<{
  uid: string;
  title: string;
  panels: readonly WrittenPanel[];
  annotations: Readonly<{ list: readonly WrittenAnnotation[] }>;
}>;

/** A panel, or the heading of a row of panels. */
export type WrittenPanel = Readonly<{
  type: "row" | "timeseries" | "stat" | "state-timeline";
  title: string;
  description?: string;
  gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
  fieldConfig?: Readonly<{ defaults: FieldDefaults }>;
  targets?: readonly Readonly<{ expr: string; legendFormat: string }>[];
}>;

/** Format of a panel's values. */
export type FieldDefaults = Readonly<{
  unit: string;
  mappings: readonly Readonly<{ options: Readonly<Record<string, Readonly<{ text: string; color: string }>>> }>[];
  thresholds: Readonly<{ steps: readonly Readonly<{ color: string; value: number | null }>[] }>;
}>;

type WrittenAnnotation = Readonly<{ name: string; iconColor: string; expr: string; titleFormat: string }>;

const folder = join(import.meta.dirname, "../../../infra/observability/generated/dashboards");

/** Reads the repository's Grafana dashboards. */
export function readWrittenDashboards(): readonly WrittenDashboard[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return names.map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as WrittenDashboard);
}
