import type { FileInForce } from "./files/files-in-force.ts";

/** What a running service has been told, for whoever asks whether that still is what it was given. */
export type ConfigurationInUse = Readonly<{
  service: string;
  version: string;
  /** Digest of the environment that it was started with (`settingsDigest`). */
  settingsSha256: string;
  /** The files that it reads again as they change. */
  files: readonly FileInForce[];
}>;
