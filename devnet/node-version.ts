import coerce from "semver/functions/coerce.js";
import lt from "semver/functions/lt.js";
import { z } from "zod";

/** A semantic version, with or without a leading `v` and with or without a patch number. */
export const nodeVersion = z
  .string()
  .regex(/^v?\d+\.\d+(\.\d+)?([-+][0-9A-Za-z.+-]+)?$/)
  .meta({ expected: "a version such as 0.16.2, v0.11 or 0.16.0-rc.1" });

/** What the node's version decides. */
export type VersionTraits = Readonly<{
  /** `legacy`: bin directory deep in the node's own directory, and a `node_cli` without `--c`. */
  layout: "current" | "legacy";
  /** How the keys of `chain.monitor_config` are named. */
  monitorKeys: "storage" | "pamir";
}>;

/**
 * Layout and key names of a version: v0.11 brought the layout, v0.16.0 the `storage_*` keys (specification, "Versioning"). A
 * pre-release counts as its release.
 *
 * @throws {Error} when the text is no version.
 */
export function versionTraits(version: string): VersionTraits {
  const release = coerce(version);
  if (release === null) throw new Error(`"${version}" is no version; expected one such as 0.16.2`);
  return {
    layout: lt(release, "0.11.0") ? "legacy" : "current",
    monitorKeys: lt(release, "0.16.0") ? "pamir" : "storage",
  };
}
