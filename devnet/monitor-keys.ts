import { versionTraits } from "./node-version.ts";

/** The keys of `chain.monitor_config` by what they mean. */
export type MonitorKeyNames = Readonly<
  Record<"enable" | "jobName" | "pushAddress" | "pushInterval" | "pushPort", string>
>;

const storage: MonitorKeyNames = {
  enable: "storage_enable_cetina",
  jobName: "storage_cetina_job_name",
  pushAddress: "storage_cetina_push_address",
  pushInterval: "storage_cetina_push_interval",
  pushPort: "storage_cetina_push_port",
};

const pamir: MonitorKeyNames = {
  enable: "enable_pamir_cetina",
  jobName: "pamir_cetina_job_name",
  pushAddress: "pamir_cetina_push_address",
  pushInterval: "pamir_cetina_push_interval",
  pushPort: "pamir_cetina_push_port",
};

/** The keys that a version reads (specification, "Versioning"); it takes no notice of any other. */
export function monitorKeyNames(version: string): MonitorKeyNames {
  return versionTraits(version).monitorKeys === "storage" ? storage : pamir;
}
