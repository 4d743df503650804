import { listFixed } from "#daemon/settings/fixed.ts";
import { listSettingsLeaves } from "#daemon/settings/leaf.ts";
import { listCommonSettings } from "../../cli/settings-help.ts";
import { loadDefinitions } from "../../cli/service-definitions.ts";

const definitions = await loadDefinitions();

/** Every setting of every service. */
export const allSettings = definitions.flatMap(({ service, schema }) => listSettingsLeaves(service, schema));

/** Those that most deployments set. */
export const usualSettings = definitions.flatMap((definition) =>
  listCommonSettings(definition, listSettingsLeaves(definition.service, definition.schema)),
);

/** Every constant of the settings' schemas. */
export const allConstants = definitions.flatMap(({ schema }) => listFixed(schema));

/** The keys of the settings, as `node.httpUrl`. */
export const allKeys: ReadonlySet<string> = new Set(allSettings.map(({ path }) => path.join(".")));
