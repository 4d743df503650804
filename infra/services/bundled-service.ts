import type { StackConfig } from "../config/config-schema.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import type { Addresses } from "./addresses.ts";
import type { BuiltService } from "./built-service.ts";
import type { ServiceSpec } from "./service-spec.ts";

/** Names and target secrets from which an optional service in the stack is built. */
export type BundledContext = Readonly<{
  /** Prefix for the stack's resource names, e.g. `gatehouse-dev`, and for the job name of the node's metrics. */
  prefix: string;
  addresses: Addresses;
  /** Turns text into a secret that Pulumi encrypts wherever it is stored. */
  secret: (text: string) => DeploymentSecret;
}>;

/** A service that a stack includes depending on its configuration: what the program needs besides the service's row in the table. */
export type BundledService<Args> = Readonly<{
  /** Whether a stack includes the service. */
  isBundled: (config: StackConfig) => boolean;
  /** Reads the service's arguments; returns `undefined` if the configuration lacks a required value, which the configuration check rejects. */
  readArgs: (config: StackConfig, context: BundledContext) => Args | undefined;
  /**
   * Builds the service.
   *
   * @param others specifications of the services that every stack has, and of the services that precede this one in the table, in row
   * order.
   */
  build: (args: Args, others: readonly ServiceSpec[]) => BuiltService;
}>;
