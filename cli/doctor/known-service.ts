import type { Secret } from "#daemon/secrets/secret.ts";
import { listOperatedServices, type OperatedService } from "#daemon/stack-services.ts";
import type { DumpedSetting } from "../config-dump.ts";

/** Services that `gatehouse doctor` checks. */
export const doctoredServices: readonly DoctoredService[] = listOperatedServices().flatMap(({ name }) =>
  name === "sidecar" ? [name, "gateway"] : [name],
);
/** Service that `gatehouse doctor` checks; a gateway that runs alone is not a service of a stack. */
export type DoctoredService = OperatedService | "gateway";

/** Whether a name is that of a service that `gatehouse doctor` checks. */
export function isDoctored(name: string | undefined): name is DoctoredService {
  return doctoredServices.some((known) => known === name);
}

/** Source of the address of a service that nobody named. */
export const defaultSource = "its default port";

/** Knowledge about a service before it is queried. */
export type KnownService = Readonly<{
  service: DoctoredService;
  /** Source of this knowledge, e.g. `the environment`. */
  source: string;
  /** URL of its operators' listener; undefined if its settings can't be read. */
  url: string | undefined;
  /** Its settings; undefined if only its address is known. */
  settings: KnownSettings | undefined;
}>;

/** A service's settings: problems that keep it from starting, or facts that follow from the settings. */
export type KnownSettings = Readonly<
  | { ok: false; problems: readonly string[] }
  | { ok: true; facts: ServiceFacts; secrets: readonly GivenSecret[]; values: readonly DumpedSetting[] }
>;

/** A listener that a service wants. */
export type WantedListener = Readonly<{ host: string; port: number; setting: string }>;

/** The account that pays for settlements. */
export type GasPayer = Readonly<{
  privateKey: Secret;
  rpcUrl: string;
  gasLimit: number;
  maxFeePerGasGwei: number;
  nativeDecimals: number;
}>;

/** Facts about a service, derived from its settings, that checks from outside need. */
export type ServiceFacts = Readonly<{
  operations: Readonly<{ host: string; port: number }>;
  listeners: readonly WantedListener[];
  gasPayer?: GasPayer | undefined;
}>;

/** A secret that a service was given, with its variable or file; never its value. */
export type GivenSecret = Readonly<{ setting: string; variable: string; file: string | undefined }>;
