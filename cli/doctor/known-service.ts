import type { Secret } from "#daemon/secrets/secret.ts";
import { listOperatedServices, type OperatedService } from "#infra/stack-services.ts";
import type { DumpedSetting } from "../config-dump.ts";

/** Services that `gatehouse doctor` checks. */
export const checkedServices: readonly CheckedService[] = listOperatedServices().flatMap(({ name }) =>
  name === "sidecar" ? [name, "gateway"] : [name],
);
/** Service that `gatehouse doctor` checks; a standalone gateway is not a service of a stack. */
export type CheckedService = OperatedService | "gateway";

/** Returns whether `gatehouse doctor` checks a service with this name. */
export function isCheckedService(name: string | undefined): name is CheckedService {
  return checkedServices.some((known) => known === name);
}

/** Source reported for a service whose address wasn't specified. */
export const defaultSource = "its default port";

/** Information about a service before it is queried. */
export type KnownService = Readonly<{
  service: CheckedService;
  /** Source of this information, e.g. `the environment`. */
  source: string;
  /** URL of the service's operations listener; undefined if its settings can't be read. */
  url: string | undefined;
  /** Its settings; undefined if only its address is known. */
  settings: KnownSettings | undefined;
}>;

/** A service's settings: problems that prevent its start, or facts derived from the settings. */
export type KnownSettings = Readonly<
  | { ok: false; problems: readonly string[] }
  | { ok: true; facts: ServiceInfo; secrets: readonly GivenSecret[]; values: readonly DumpedSetting[] }
>;

/** A listener that a service is configured to open. */
export type RequestedListener = Readonly<{ host: string; port: number; setting: string }>;

/** The accounts that pay for settlements; without keys, those of keys that are not in the settings. */
export type GasPayer = Readonly<{
  privateKeys: readonly Secret[];
  rpcUrl: string;
  gasLimit: number;
  maxFeePerGasGwei: number;
}>;

/** Facts about a service, derived from its settings, for external checks. */
export type ServiceInfo = Readonly<{
  operations: Readonly<{ host: string; port: number }>;
  listeners: readonly RequestedListener[];
  /** One per network on which it settles. */
  gasPayers: readonly GasPayer[];
}>;

/** A secret given to a service: its variable or file, never its value. */
export type GivenSecret = Readonly<{ setting: string; variable: string; file: string | undefined }>;
