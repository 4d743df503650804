import type { Secret } from "#daemon/secrets/secret.ts";
import { listOperatedServices, type OperatedService } from "#daemon/stack-services.ts";
import type { DumpedSetting } from "../config-dump.ts";

/** The services that `gatehouse doctor` looks at. */
export const doctoredServices: readonly DoctoredService[] = listOperatedServices().flatMap(({ name }) =>
  name === "sidecar" ? [name, "gateway"] : [name],
);
/** A gateway that runs alone is no service of a stack. */
export type DoctoredService = OperatedService | "gateway";

/** A service, as far as it is known before it is queried. */
export type KnownService = Readonly<{
  service: DoctoredService;
  /** How it came to be known, e.g. `the environment`. */
  source: string;
  /** URL of its operators' listener; undefined where its settings can't be read. */
  url: string | undefined;
  /** What its settings say; undefined where only its address is known. */
  settings: KnownSettings | undefined;
}>;

/** A service's settings: what it can't start with, or what follows from them. */
export type KnownSettings = Readonly<
  | { ok: false; problems: readonly string[] }
  | { ok: true; facts: ServiceFacts; secrets: readonly GivenSecret[]; values: readonly DumpedSetting[] }
>;

/** A listener that a service wants. */
export type WantedListener = Readonly<{ host: string; port: number; setting: string }>;

/** A JSON-RPC endpoint that a service works with, and the chain that it expects there. */
export type UsedChain = Readonly<{ url: string; chainId: number; setting: string }>;

/** The account that pays for settlements. */
export type GasPayer = Readonly<{
  privateKey: Secret;
  rpcUrl: string;
  gasLimit: number;
  maxFeePerGasGwei: number;
  nativeDecimals: number;
}>;

/** The facilitator that a resource server sends payments to. */
export type UsedFacilitator = Readonly<{ url: string; apiKey: Secret | undefined; network: string }>;

/** What follows from a service's settings for who looks at it from outside. */
export type ServiceFacts = Readonly<{
  operations: Readonly<{ host: string; port: number }>;
  listeners: readonly WantedListener[];
  chain: UsedChain | undefined;
  /** Age from which a head is old, where the service has an opinion. */
  staleAfterMs?: number;
  pushgatewayUrl?: string | undefined;
  facilitator?: UsedFacilitator | undefined;
  /** Where its clients come in. */
  publicUrl?: string | undefined;
  gasPayer?: GasPayer | undefined;
}>;

/** A secret that a service was given, and how; never its value. */
export type GivenSecret = Readonly<{ setting: string; variable: string; file: string | undefined }>;
