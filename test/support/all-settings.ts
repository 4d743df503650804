import { listFixed } from "#daemon/settings/section.ts";
import { listSettingsLeaves } from "#daemon/settings/leaf.ts";
import { listCommonSettings } from "../../cli/settings-help.ts";
import { loadDefinitions } from "../../cli/service-definitions.ts";

const definitions = await loadDefinitions();

export const allSettings = definitions.flatMap(({ service, schema }) => listSettingsLeaves(service, schema));

export const usualSettings = definitions.flatMap((definition) =>
  listCommonSettings(definition, listSettingsLeaves(definition.service, definition.schema)),
);

export const allConstants = definitions.flatMap(({ schema }) => listFixed(schema));

export const allKeys: ReadonlySet<string> = new Set(allSettings.map(({ path }) => path.join(".")));
