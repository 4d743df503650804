import { toEnvironmentName } from "#daemon/settings/leaf.ts";

/** What the gateway's settings are called in the service that it runs in; messages name them by it. */
export type SettingNames = Readonly<{
  /** The key in the settings file of a setting such as `jwt.jwksPath`. */
  key: (path: string) => string;
  /** Its environment variable. */
  variable: (path: string) => string;
}>;

/** The names in a service that has the gateway's settings in the section `within`, or, without one, among its own. */
export function createSettingNames(service: string, within?: string): SettingNames {
  const full = (path: string) => [...(within === undefined ? [] : [within]), ...path.split(".")];
  return {
    key: (path) => full(path).join("."),
    variable: (path) => toEnvironmentName(service, full(path)),
  };
}
