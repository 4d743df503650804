import type { z } from "zod";
import type { Mask } from "#daemon/secrets/mask.ts";
import type { Secret } from "#daemon/secrets/secret.ts";
import { toEnvironmentName, listSettingsLeaves } from "#daemon/settings/leaf.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { readSettings, type SettingsDefinition, type SettingsSources } from "#daemon/settings/settings.ts";
import { listNetworks } from "#facilitator/network-options.ts";
import { facilitatorSettings } from "#facilitator/settings.ts";
import { gatewaySettings, type StandaloneGatewaySettings } from "#gateway/settings.ts";
import { listOperatedServices, type OperatedService } from "#infra/stack-services.ts";
import { resourceServerSettings, type ResourceServerSettings } from "#resource-server/settings.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { dumpSettings, type DumpedSetting } from "../config-dump.ts";

/** Service that `gatehouse doctor` checks; a standalone gateway is not a service of a stack. */
export type CheckedService = OperatedService | "gateway";

export const checkedServices: readonly CheckedService[] = listOperatedServices().flatMap(({ name }) =>
  name === "sidecar" ? [name, "gateway"] : [name],
);

export function isCheckedService(name: string | undefined): name is CheckedService {
  return checkedServices.some((known) => known === name);
}

/** Source reported for a service whose address wasn't specified. */
export const defaultSource = "its default port";

/** Source reported for a service that announced itself on this machine. */
export const runningHereSource = "found on this machine";

export type KnownService = Readonly<{
  service: CheckedService;
  source: string;
  /** URL of the service's operations listener; undefined if its settings are invalid. */
  url: string | undefined;
  settings: KnownSettings | undefined;
}>;

export type KnownSettings = Readonly<
  | { ok: false; problems: readonly string[] }
  | { ok: true; facts: ServiceInfo; secrets: readonly ConfiguredSecret[]; values: readonly DumpedSetting[] }
>;

export type RequestedListener = Readonly<{ host: string; port: number; setting: string }>;

/** The accounts that pay for settlements on one network; without keys if these are not in the settings. */
export type GasPayer = Readonly<{
  privateKeys: readonly Secret[];
  rpcUrl: string;
  gasLimit: number;
  maxFeePerGasGwei: number;
}>;

type ServiceInfo = Readonly<{
  operations: Readonly<{ host: string; port: number }>;
  listeners: readonly RequestedListener[];
  gasPayers: readonly GasPayer[];
}>;

/** A secret given to a service: its variable or file, never its value. */
export type ConfiguredSecret = Readonly<{ setting: string; variable: string; file: string | undefined }>;

/** Reads a service's settings as the service would, and registers their secrets with `mask`. */
export function readKnownSettings(
  service: CheckedService,
  sources: SettingsSources,
  { mask }: Readonly<{ mask: Mask }>,
): KnownSettings {
  const { definition, readFacts } = readers[service];
  try {
    const facts = readFacts(sources);
    const values = dumpSettings(definition, sources, { mask });
    return { ok: true, facts, secrets: listGivenSecrets(definition, sources), values };
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return { ok: false, problems: error.lines };
  }
}

type Address = ServiceInfo["operations"];

function createReader<Schema extends z.ZodObject>(
  definition: SettingsDefinition<Schema>,
  listFacts: (settings: z.output<Schema>) => ServiceInfo,
) {
  return { definition, readFacts: (sources: SettingsSources) => listFacts(readSettings(definition, sources)) };
}

const readers = {
  sidecar: createReader(sidecarSettings, ({ listen, gateway }) =>
    listGatewayFacts("sidecar", ["gateway"], { ...gateway, listen }),
  ),
  gateway: createReader(gatewaySettings, (settings) => listGatewayFacts("gateway", [], settings)),
  facilitator: createReader(facilitatorSettings, (settings) => {
    const gasPayers = listNetworks(settings).map(({ chain: { rpcUrl }, settlement }) => {
      const { gasLimit, maxFeePerGasGwei } = settlement;
      return { privateKeys: settings.signer.privateKey ?? [], rpcUrl, gasLimit, maxFeePerGasGwei };
    });
    return { ...listPaymentListeners("facilitator", settings), gasPayers };
  }),
  "resource-server": createReader(resourceServerSettings, (settings) => ({
    ...listPaymentListeners("resource-server", settings),
    gasPayers: listOwnGasPayers(settings),
  })),
} as const satisfies Readonly<Record<CheckedService, object>>;

function nameListener(service: string, section: string, { host, port }: Address): RequestedListener {
  return { host, port, setting: toEnvironmentName(service, [section, "port"]) };
}

function listPaymentListeners(
  service: string,
  { listen, operations }: Readonly<Record<"listen" | "operations", Address>>,
) {
  const listeners = [nameListener(service, "listen", listen), nameListener(service, "operations", operations)];
  return { operations, listeners };
}

function listGatewayFacts(
  service: string,
  section: readonly string[],
  settings: Pick<StandaloneGatewaySettings, "listen" | "public" | "private" | "internal">,
): ServiceInfo {
  const own = (["public", "private", "internal"] as const)
    .filter((name) => settings[name].enabled)
    .map((name) => {
      const { host, port } = settings[name];
      return { host, port, setting: toEnvironmentName(service, [...section, name, "port"]) };
    });
  const { listen } = settings;
  return { operations: listen, listeners: [nameListener(service, "listen", listen), ...own], gasPayers: [] };
}

/** Lists the payers of settlements that a resource server makes in its own process, where the facilitator's default gas limits apply. */
function listOwnGasPayers({ facilitator, settlement }: ResourceServerSettings): readonly GasPayer[] {
  const { rpcUrl, privateKey: privateKeys, networks } = settlement;
  if (facilitator.url !== undefined || rpcUrl === undefined || privateKeys === undefined) return [];
  const { gasLimit, maxFeePerGasGwei } = facilitatorSettings.schema.shape.settlement.parse({});
  return [{ rpcUrl }, ...networks].map((chain) => ({
    privateKeys,
    rpcUrl: chain.rpcUrl,
    gasLimit,
    maxFeePerGasGwei,
  }));
}

function listGivenSecrets(
  { service, schema }: SettingsDefinition,
  { env }: SettingsSources,
): readonly ConfiguredSecret[] {
  return listSettingsLeaves(service, schema)
    .filter(({ secret }) => secret)
    .flatMap(({ path, env: variable }) => {
      const file = env[`${variable}_FILE`] || undefined;
      const isGiven = file !== undefined || (env[variable] ?? "") !== "";
      return isGiven ? [{ setting: path.join("."), variable, file }] : [];
    });
}
