import { listSettingsLeaves } from "#daemon/settings/leaf.ts";
import { serviceDefinitions } from "../../cli/service-definitions.ts";

/** Every setting of every service. */
export const allSettings = Object.values(serviceDefinitions).flatMap(({ service, schema }) =>
  listSettingsLeaves(service, schema),
);

/** The keys of the settings, as `node.httpUrl`. */
export const allKeys: ReadonlySet<string> = new Set(allSettings.map(({ path }) => path.join(".")));
