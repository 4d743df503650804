import { ComponentResource, type ComponentResourceOptions, type Input, type Resource } from "@pulumi/pulumi";
import type { Platform } from "../platform.ts";
import type { BuiltService } from "../services/built-service.ts";
import type { ServiceName } from "../services/service-spec.ts";
import { ConfigError } from "../config/config-problem.ts";

/** Platform of a component, and the resources that have to be up before it. */
export type Placed = Readonly<{
  /** The Docker host or Kubernetes namespace to deploy to. */
  platform: Platform;
  /** Resources that have to be up first. */
  after?: readonly Input<Resource>[];
}>;

/** `resource-server` as `ResourceServer`. */
type InCapitals<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${Capitalize<First>}${InCapitals<Rest>}`
  : Capitalize<Name>;

/** Name of a service's type in Pulumi's state (`gatehouse:index:Facilitator`). */
type ServiceType = InCapitals<ServiceName>;

/** Formats the type of a service of this name. */
export function formatServiceType(name: ServiceName): ServiceType {
  const words = name.split("-").map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return words.join("") as ServiceType;
}

/**
 * One service on a platform: its container or Deployment, its volume, its files.
 *
 * @example
 * import { pushgatewaySpec, Service } from "gatehouse-evm/pulumi";
 *
 * new Service("Pushgateway", "pushgateway", { platform, service: pushgatewaySpec({}) });
 */
export class Service extends ComponentResource {
  /** Resource to depend on for whatever uses this service. */
  readonly ready: Resource;

  /** @throws {ConfigError} if the service would refuse its settings. */
  constructor(
    type: ServiceType,
    name: string,
    { service, platform, after = [] }: Readonly<{ service: BuiltService }> & Placed,
    opts?: ComponentResourceOptions,
  ) {
    super(`gatehouse:index:${type}`, name, {}, opts);
    const { spec } = withoutProblems({ service }).service;
    this.ready = platform.deploy(spec, { parent: this, dependsOn: after });
    this.registerOutputs({});
  }
}

/** Returns the services as they are. @throws {ConfigError} with every problem of every service. */
export function withoutProblems<Built extends Readonly<Record<string, BuiltService | undefined>>>(built: Built): Built {
  const problems = Object.values(built).flatMap((service) => service?.problems ?? []);
  if (problems.length > 0) throw new ConfigError(problems);
  return built;
}
