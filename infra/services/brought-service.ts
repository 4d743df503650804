import type { StackConfig } from "../config/config-schema.ts";
import type { DeploymentSecret } from "../config/deployment-secret.ts";
import type { Addresses } from "./addresses.ts";
import type { BuiltService } from "./built-service.ts";
import type { ServiceSpec } from "./service-spec.ts";

/** Names and secrets of the target that a service of the stack is made with. */
export type BroughtContext = Readonly<{
  /** Prefix of the stack's resource names, e.g. `gatehouse-dev`; also the start of the job name of the node's metrics. */
  prefix: string;
  addresses: Addresses;
  /** Makes a secret of text, so that Pulumi encrypts it wherever it is stored. */
  secret: (text: string) => DeploymentSecret;
}>;

/** A service that a stack brings or does without, as its configuration says: what the program has to know of it besides its row. */
export type BroughtService<Args> = Readonly<{
  /** Whether a stack brings it. */
  isBrought: (config: StackConfig) => boolean;
  /** Reads its arguments; `undefined` if the configuration lacks what it can't be without, which its check refuses. */
  readArgs: (config: StackConfig, context: BroughtContext) => Args | undefined;
  /**
   * Builds it.
   *
   * @param others specifications of the services that every stack has, and of those before it in the table, in the order of all rows.
   */
  build: (args: Args, others: readonly ServiceSpec[]) => BuiltService;
}>;
