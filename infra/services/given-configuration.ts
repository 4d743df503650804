import { createHash } from "node:crypto";
import { output, type Output } from "@pulumi/pulumi";
import { settingsDigest } from "#daemon/settings/digest.ts";
import type { SettingsDefinition } from "#daemon/settings/settings.ts";
import { liveFilesOf, type ServiceSpec } from "./service-spec.ts";

/** What a service was given, as it tells itself what it runs with: digests of its settings, and of the files that it reads as they change by their names. */
export type GivenConfiguration = Readonly<{
  settingsSha256: string;
  files: Readonly<Record<string, Output<string>>>;
}>;

/** What a specification gives its service. */
export function givenConfiguration(definition: SettingsDefinition, spec: ServiceSpec): GivenConfiguration {
  const files = liveFilesOf(spec).map(({ name, content }) => {
    const digest = output(content).apply((text) => createHash("sha256").update(text).digest("hex"));
    return [name, digest] as const;
  });
  return { settingsSha256: settingsDigest(definition, spec.environment), files: Object.fromEntries(files) };
}
