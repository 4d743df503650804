import type { Mask } from "#daemon/secrets/mask.ts";
import { toEnvironmentName, listSettingsLeaves } from "#daemon/settings/leaf.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { readSettings, type SettingsDefinition, type SettingsSources } from "#daemon/settings/settings.ts";
import { listNetworks } from "#facilitator/network-options.ts";
import { facilitatorSettings, type FacilitatorSettings } from "#facilitator/settings.ts";
import { gatewaySettings, type GatewayAloneSettings } from "#gateway/settings.ts";
import { resourceServerSettings, type ResourceServerSettings } from "#resource-server/settings.ts";
import { sidecarSettings, type SidecarSettings } from "#sidecar/settings.ts";
import { dumpSettings } from "../config-dump.ts";
import type { CheckedService, GasPayer, GivenSecret, KnownSettings, ServiceInfo } from "./known-service.ts";

/** Reads a service's settings as the service would, and registers their secrets with `mask`. */
export function readKnownSettings(
  service: CheckedService,
  sources: SettingsSources,
  { mask }: Readonly<{ mask: Mask }>,
): KnownSettings {
  const read = readers[service];
  try {
    const facts = read.facts(sources);
    const values = dumpSettings(read.definition, sources, { mask });
    return { ok: true, facts, secrets: listGivenSecrets(read.definition, sources), values };
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return { ok: false, problems: error.lines };
  }
}

type Reader = Readonly<{ definition: SettingsDefinition; facts: (sources: SettingsSources) => ServiceInfo }>;

const readers: Readonly<Record<CheckedService, Reader>> = {
  sidecar: {
    definition: sidecarSettings,
    facts: (sources) => describeSidecar(readSettings(sidecarSettings, sources)),
  },
  gateway: {
    definition: gatewaySettings,
    facts: (sources) => describeGateway(readSettings(gatewaySettings, sources)),
  },
  facilitator: {
    definition: facilitatorSettings,
    facts: (sources) => describeFacilitator(readSettings(facilitatorSettings, sources)),
  },
  "resource-server": {
    definition: resourceServerSettings,
    facts: (sources) => describeResourceServer(readSettings(resourceServerSettings, sources)),
  },
};

function describeSidecar({ listen, gateway }: SidecarSettings): ServiceInfo {
  return {
    operations: listen,
    listeners: [
      { ...listen, setting: toEnvironmentName("sidecar", ["listen", "port"]) },
      ...listGatewayListeners("sidecar", ["gateway"], gateway),
    ],
    gasPayers: [],
  };
}

function describeGateway(settings: GatewayAloneSettings): ServiceInfo {
  const { listen } = settings;
  return {
    operations: listen,
    listeners: [
      { ...listen, setting: toEnvironmentName("gateway", ["listen", "port"]) },
      ...listGatewayListeners("gateway", [], settings),
    ],
    gasPayers: [],
  };
}

/** Lists the enabled listeners in a gateway's settings. */
function listGatewayListeners(
  service: string,
  section: readonly string[],
  settings: Pick<GatewayAloneSettings, "public" | "private" | "internal">,
) {
  return (["public", "private", "internal"] as const)
    .filter((name) => settings[name].enabled)
    .map((name) => {
      const { host, port } = settings[name];
      return { host, port, setting: toEnvironmentName(service, [...section, name, "port"]) };
    });
}

function describeFacilitator(settings: FacilitatorSettings): ServiceInfo {
  const { listen, operations, signer } = settings;
  return {
    operations,
    listeners: [
      { ...listen, setting: toEnvironmentName("facilitator", ["listen", "port"]) },
      { ...operations, setting: toEnvironmentName("facilitator", ["operations", "port"]) },
    ],
    gasPayers: listNetworks(settings).map(({ chain: { rpcUrl }, settlement }) => {
      const { gasLimit, maxFeePerGasGwei } = settlement;
      return { privateKeys: signer.privateKey ?? [], rpcUrl, gasLimit, maxFeePerGasGwei };
    }),
  };
}

function describeResourceServer({ listen, operations, facilitator, settlement }: ResourceServerSettings): ServiceInfo {
  const { rpcUrl, privateKey, networks } = settlement;
  const settlesItself = facilitator.url === undefined && rpcUrl !== undefined;
  return {
    operations,
    listeners: [
      { ...listen, setting: toEnvironmentName("resource-server", ["listen", "port"]) },
      { ...operations, setting: toEnvironmentName("resource-server", ["operations", "port"]) },
    ],
    gasPayers:
      settlesItself && privateKey !== undefined
        ? [{ rpcUrl }, ...networks].map((chain) =>
            Object.assign(getDefaultGas(), { privateKeys: privateKey }, { rpcUrl: chain.rpcUrl }),
          )
        : [],
  };
}

/** Returns the gas limits for settlements that the resource server makes in its own process. It has no gas settings, so the facilitator's defaults apply. */
function getDefaultGas(): Pick<GasPayer, "gasLimit" | "maxFeePerGasGwei"> {
  const { gasLimit, maxFeePerGasGwei } = facilitatorSettings.schema.shape.settlement.parse({});
  return { gasLimit, maxFeePerGasGwei };
}

function listGivenSecrets({ service, schema }: SettingsDefinition, { env }: SettingsSources): readonly GivenSecret[] {
  return listSettingsLeaves(service, schema)
    .filter(({ secret }) => secret)
    .flatMap(({ path, env: variable }) => {
      const file = env[`${variable}_FILE`] || undefined;
      const isGiven = file !== undefined || (env[variable] ?? "") !== "";
      return isGiven ? [{ setting: path.join("."), variable, file }] : [];
    });
}
