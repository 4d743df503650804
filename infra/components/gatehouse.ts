import { all, ComponentResource, type ComponentResourceOptions, type Output, type Resource } from "@pulumi/pulumi";
import { isOperatedService } from "../stack-services.ts";
import type { Platform } from "../platform.ts";
import { describeGivenConfiguration, type GivenConfiguration } from "../services/built-service.ts";
import { buildServices, listBuiltServices, type StackServices } from "../services/built-stack.ts";
import type { ServiceName } from "../services/service-spec.ts";
import type { StackArgs } from "../services/stack-specs.ts";
import { Node } from "./node.ts";
import { formatServiceType, Service, withoutProblems } from "./service.ts";

/**
 * The whole system: a guarded node, its Pushgateway, a facilitator and a resource server.
 *
 * @example
 * import { deploymentSecret, Gatehouse, parseConfig, stackArgs } from "gatehouse-evm/pulumi";
 *
 * const { addresses, published, restart } = platform;
 * const config = parseConfig({ devAccounts: "true", tokenAddress: token });
 * const args = stackArgs(config, { prefix: "pay", addresses, published, restart, secret: deploymentSecret });
 * new Gatehouse("pay", { ...args, platform });
 */
export class Gatehouse extends ComponentResource {
  /** Digests of the settings and files given to each service that reports its own digest, by service name. */
  readonly configuration: Readonly<Record<string, GivenConfiguration>>;
  /** Resolves once all services are deployed. */
  readonly ready: Output<unknown>;

  /**
   * @throws {ConfigError} with the problems of all services at once, before any resource is created.
   */
  constructor(name: string, args: StackArgs & Readonly<{ platform: Platform }>, opts?: ComponentResourceOptions) {
    super("gatehouse:index:Gatehouse", name, {}, opts);
    const services = withoutProblems(buildServices(args));
    const { platform } = args;
    this.configuration = Object.fromEntries(
      listBuiltServices(services).flatMap(({ definition, spec }) =>
        definition !== undefined && isOperatedService(spec.name)
          ? [[spec.name, describeGivenConfiguration(definition, spec)]]
          : [],
      ),
    );
    const specs = listBuiltServices(services).map(({ spec }) => spec);
    platform.allowEdges(specs);
    platform.announce(specs);
    this.ready = deployServices(services, { name, platform, parent: this, schedule: args.volumeSnapshots?.schedule });
    this.registerOutputs({});
  }
}

/** Services deployed with the node: in its pod or before it first starts. */
const withNode = new Set<ServiceName>(["sidecar", "restore", "volume-snapshot"]);

/** Deploys services, each after the services that its specification depends on. */
function deployServices(
  services: StackServices,
  {
    name,
    platform,
    parent,
    schedule,
  }: Readonly<{ name: string; platform: Platform; parent: ComponentResource; schedule: string | undefined }>,
): Output<unknown> {
  const ready = new Map<ServiceName, Resource>();
  const deploy = (service: ServiceName): readonly Resource[] => {
    const known = ready.get(service);
    const built = services[service];
    if (known !== undefined) return [known];
    if (built === undefined) return [];
    const place = { platform, after: (built.spec.startsAfter ?? []).flatMap(deploy) };
    const made =
      service === "node"
        ? new Node(`${name}-node`, { ...listNodeServices(services, schedule), ...place }, { parent })
        : new Service(formatServiceType(service), `${name}-${service}`, { service: built, ...place }, { parent });
    ready.set(service, made.ready);
    return [made.ready];
  };
  const alone = listBuiltServices(services).filter(({ spec }) => !withNode.has(spec.name));
  return all(alone.flatMap(({ spec }) => deploy(spec.name)).map(({ urn }) => urn));
}

function listNodeServices({ node, sidecar, restore, ...others }: StackServices, schedule: string | undefined) {
  const snapshot = others["volume-snapshot"];
  const snapshots = snapshot && schedule !== undefined ? { service: snapshot, schedule } : undefined;
  return { node, sidecar, restore, snapshots };
}
