import { ComponentResource, type ComponentResourceOptions, type Input, type Resource } from "@pulumi/pulumi";
import type { Platform } from "../platform.ts";
import type { BuiltService } from "../services/built-service.ts";
import type { ServiceName } from "../services/service-spec.ts";
import { ConfigError } from "../config/config-problem.ts";

export type ServicePlacement = Readonly<{
  /** The Docker host or Kubernetes namespace to deploy to. */
  platform: Platform;
  /** Resources that must be ready first. */
  after?: readonly Input<Resource>[];
}>;

/** Converts `resource-server` to `ResourceServer`. */
type PascalCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${Capitalize<First>}${PascalCase<Rest>}`
  : Capitalize<Name>;

/** Name of a service's type in Pulumi's state (`gatehouse:index:Facilitator`). */
type ServiceType = PascalCase<ServiceName>;

export function formatServiceType(name: ServiceName): ServiceType {
  const words = name.split("-").map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return words.join("") as ServiceType;
}

/**
 * One service on a platform: its container or Deployment, volume and files.
 *
 * @example
 * import { deploymentSecret, facilitatorSpec, Service } from "gatehouse-evm/pulumi";
 *
 * const service = facilitatorSpec({
 *   chainId: 1672,
 *   rpcUrl: "http://node.example:8545",
 *   signerPrivateKey: deploymentSecret(signerKey),
 *   tokens: [{ address: token, name: "USDC", version: "2", minAmount: 10_000 }],
 *   payees: [payee],
 * });
 * new Service("Facilitator", "seller", { platform, service });
 */
export class Service extends ComponentResource {
  /** Resource that clients of this service depend on. */
  readonly ready: Resource;

  /**
   * @throws {ConfigError} if the service would reject its settings.
   */
  constructor(
    type: ServiceType,
    name: string,
    { service, platform, after = [] }: Readonly<{ service: BuiltService }> & ServicePlacement,
    opts?: ComponentResourceOptions,
  ) {
    super(`gatehouse:index:${type}`, name, {}, opts);
    const { spec } = requireNoProblems({ service }).service;
    this.ready = platform.deploy(spec, { parent: this, dependsOn: after });
    this.registerOutputs({});
  }
}

/** Returns the services unchanged. @throws {ConfigError} with every problem of every service. */
export function requireNoProblems<Built extends Readonly<Record<string, BuiltService | undefined>>>(
  built: Built,
): Built {
  const problems = Object.values(built).flatMap((service) => service?.problems ?? []);
  if (problems.length > 0) throw new ConfigError(problems);
  return built;
}
