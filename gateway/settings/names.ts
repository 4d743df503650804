import { toEnvironmentName } from "#daemon/settings/leaf.ts";

/** Names of the gateway's settings in the service that runs it, for messages. */
export type SettingNames = Readonly<{
  /** Returns the key in a settings file for a setting such as `jwt.jwksPath`. */
  key: (path: string) => string;
  /** Returns the environment variable for a setting. */
  variable: (path: string) => string;
}>;

/** Creates the names for a service whose gateway settings are in the section `within` or, without one, at the top level. */
export function createSettingNames(service: string, within?: string): SettingNames {
  const full = (path: string) => [...(within === undefined ? [] : [within]), ...path.split(".")];
  return { key: (path) => full(path).join("."), variable: (path) => toEnvironmentName(service, full(path)) };
}
