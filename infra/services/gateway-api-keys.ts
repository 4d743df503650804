import { policyFields } from "#gateway/settings/policy.ts";
import type { ConfigProblem } from "../config/config-problem.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { liveFilesDirectory, type FileSpec } from "./service-spec.ts";
import { findRenderedValue, type SettingsTree } from "./rendered-settings.ts";

export type GatewayApiKeys = StackConfig["gatewayApiKeys"];

export type RenderedApiKeys = Readonly<{
  /** Path of the gateway's key file; undefined if the settings specify a file of the operator's own. */
  keysPath: string | undefined;
  liveFiles: readonly FileSpec[];
  problems: readonly ConfigProblem[];
}>;

const keysFile = "api-keys.json5";
const pathOfKeys = ["gateway", "callers", "keysPath"] as const;
const key = "gatewayApiKeys";

/**
 * Renders API keys into a file that the gateway hot-reloads: keys are issued and revoked without a restart. The file exists, empty, even
 * before the first key. A file of the operator's own (`gateway.callers.keysPath`) replaces it.
 */
export function renderApiKeys(keys: GatewayApiKeys = {}, settings: SettingsTree = {}): RenderedApiKeys {
  const holders = Object.entries(keys);
  const ownFile = findRenderedValue(settings, pathOfKeys);
  if (ownFile !== undefined) {
    const message = `settings.sidecar.${pathOfKeys.join(".")} sets the gateway's file of API keys, so these would have no effect. Remove one of the two.`;
    return { keysPath: undefined, liveFiles: [], problems: holders.length === 0 ? [] : [{ key, message }] };
  }
  const content = { keys: holders.map(([name, { sha256, tier }]) => ({ name, sha256, tier })) };
  return {
    keysPath: `${liveFilesDirectory}/${keysFile}`,
    liveFiles: [{ name: keysFile, content: `${JSON.stringify(content, undefined, 2)}\n`, secret: false }],
    problems: [...findUnknownTiers(keys, settings), ...findSharedKeys(keys)],
  };
}

/** Reports key holders whose tier does not exist in the gateway, which would respond to them with an error. */
function findUnknownTiers(keys: GatewayApiKeys, settings: SettingsTree): readonly ConfigProblem[] {
  const tiers = policyFields.tiers.safeParse(findRenderedValue(settings, ["gateway", "tiers"]));
  // Problems with the tiers themselves are reported by a separate check.
  if (!tiers.success) return [];
  const known = Object.keys(tiers.data);
  return Object.entries(keys)
    .filter(([, { tier }]) => !known.includes(tier))
    .map(([name, { tier }]) => ({
      key: `${key}.${name}.tier`,
      message: `The gateway has no tier "${tier}", only ${known.join(", ")}. Use one of them, or add it to settings.sidecar.gateway.tiers.`,
    }));
}

function findSharedKeys(keys: GatewayApiKeys): readonly ConfigProblem[] {
  const holderOf = new Map<string, string>();
  return Object.entries(keys).flatMap(([name, { sha256 }]) => {
    const other = holderOf.get(sha256);
    holderOf.set(sha256, other ?? name);
    if (other === undefined) return [];
    return [
      { key: `${key}.${name}.sha256`, message: `It is also the key of ${other}. Use a different key for each holder.` },
    ];
  });
}
