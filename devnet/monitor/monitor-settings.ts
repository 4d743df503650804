import { z } from "zod";
import { findReleaseOfText } from "#node/versions.ts";

export type MonitorSettings = Readonly<{
  jobName: string;
  pushAddress: string;
  pushPort: number;
  pushIntervalSeconds: number;
}>;

/**
 * Reads `chain.monitor_config` as a node of this version would. Returns undefined if it is disabled, incomplete, or uses another version's
 * names; the node then pushes nothing and reports nothing (specification, "Errors").
 */
export function readMonitorSettings(version: string, config: unknown): MonitorSettings | undefined {
  const { monitorKeys: keys } = findReleaseOfText(version);
  const parsed = z
    .object({
      [keys.enabled]: z.literal(true),
      [keys.jobName]: z.string().min(1),
      [keys.pushAddress]: z.string().regex(/^[^\s/]+$/),
      [keys.pushIntervalSeconds]: z.int().min(1).max(86_400),
      [keys.pushPort]: z.int().min(1).max(65_535),
    })
    .safeParse(config);
  if (!parsed.success) return undefined;
  return {
    jobName: parsed.data[keys.jobName] as string,
    pushAddress: parsed.data[keys.pushAddress] as string,
    pushPort: parsed.data[keys.pushPort] as number,
    pushIntervalSeconds: parsed.data[keys.pushIntervalSeconds] as number,
  };
}
