import { toEnvironmentName } from "#daemon/settings/leaf.ts";

export function nameSetting(...path: readonly string[]): string {
  return toEnvironmentName("facilitator", path);
}
