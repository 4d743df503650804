import { policyShape } from "#gateway/settings/policy.ts";

/** The gateway's policy, in a hot-reloaded file; not used if the operator configures their own file. */
export const livePolicy = { at: ["gateway"], keys: Object.keys(policyShape), file: "policy.json5" } as const;

/**
 * All other settings, in a separate file. When the file changes, a new process replaces the sidecar while the gateway keeps responding.
 * Settings that identify the node or how to reach it stay in the environment, where policies see them; changing them replaces the
 * container. Nor does the file contain secrets.
 */
export const hotRestartSettings = {
  file: "settings.json5",
  withSecrets: true,
  fixed: [
    ["node"],
    ["monitor"],
    ["pushgateway"],
    ["prune", "enabled"],
    ["docker"],
    ["kubernetes"],
    ["upkeep", "stateDirectory"],
  ],
} as const;
