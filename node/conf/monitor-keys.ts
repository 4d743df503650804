import { hasStorageKeys, type NodeVersion } from "../versions.ts";

/** The five settings of metrics pushing, by what they mean. */
export type MonitorField = "enabled" | "jobName" | "pushAddress" | "pushIntervalSeconds" | "pushPort";

/** The names of the five keys in `chain.monitor_config`. */
export type MonitorKeys = Readonly<Record<MonitorField, string>>;

/** Names of v0.16.0 and later (specification, "monitor_config keys"). */
export const storageKeys: MonitorKeys = {
  enabled: "storage_enable_cetina",
  jobName: "storage_cetina_job_name",
  pushAddress: "storage_cetina_push_address",
  pushIntervalSeconds: "storage_cetina_push_interval",
  pushPort: "storage_cetina_push_port",
};

/** Names of v0.15.0 and earlier (specification, "Versioning", 2). */
export const pamirKeys: MonitorKeys = {
  enabled: "enable_pamir_cetina",
  jobName: "pamir_cetina_job_name",
  pushAddress: "pamir_cetina_push_address",
  pushIntervalSeconds: "pamir_cetina_push_interval",
  pushPort: "pamir_cetina_push_port",
};

/** In the order in which they are written. */
export const monitorFields = Object.keys(storageKeys) as readonly MonitorField[];

/** The names that a node reads, the names that it silently ignores, and since or until when. */
export type Naming = Readonly<{ own: MonitorKeys; other: MonitorKeys; rule: string }>;

/** The naming of a node's version. */
export function namingOf(version: NodeVersion): Naming {
  return hasStorageKeys(version)
    ? { own: storageKeys, other: pamirKeys, rule: `node ${version.text} reads the storage_* names (0.16.0 and later)` }
    : { own: pamirKeys, other: storageKeys, rule: `node ${version.text} reads the pamir names (before 0.16.0)` };
}
