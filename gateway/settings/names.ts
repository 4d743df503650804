import { toEnvironmentName } from "#daemon/settings/leaf.ts";

/** Names of the gateway's settings in the service that runs it, for messages. */
export type SettingNames = Readonly<{
  /** Returns the settings-file key of a setting such as `jwt.jwksPath`. */
  key: (path: string) => string;
  /** Returns its environment variable. */
  variable: (path: string) => string;
}>;

/** Creates the names for a service with the gateway's settings in the section `within`, or, without one, at its top level. */
export function createSettingNames(service: string, within?: string): SettingNames {
  const full = (path: string) => [...(within === undefined ? [] : [within]), ...path.split(".")];
  return {
    key: (path) => full(path).join("."),
    variable: (path) => toEnvironmentName(service, full(path)),
  };
}
