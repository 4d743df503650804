import { policyShape } from "#gateway/settings/policy.ts";

/** The gateway's policy, in a file that it reads again as it changes; not used if the operator names their own file. */
export const livePolicy = { at: ["gateway"], keys: Object.keys(policyShape), file: "policy.json5" } as const;

/**
 * All other settings, in a file as well: as it changes, a new process takes the sidecar's place, and the gateway answers meanwhile. Settings that
 * identify the node stay in the environment, where policies see them: another node is another container, and so is another way to it. Secrets are no
 * part of the file either.
 */
export const handedSettings = {
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
