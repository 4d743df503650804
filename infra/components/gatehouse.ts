import { all, ComponentResource, type ComponentResourceOptions, type Output, type Resource } from "@pulumi/pulumi";
import { isOperatedService } from "../stack-services.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { Attachment, Platform } from "../platform.ts";
import { describeGivenConfiguration, type GivenConfiguration } from "../services/built-service.ts";
import { buildServices, listBuiltServices, type StackServices } from "../services/built-stack.ts";
import type { ServiceName } from "../services/service-spec.ts";
import type { StackContext } from "../services/stack-context.ts";
import { formatServiceType, Service, requireNoProblems } from "./service.ts";

/** The whole system: a guarded node, its Pushgateway, a facilitator and a resource server. */
export class Gatehouse extends ComponentResource {
  /** Digests of the settings and files given to each service that reports its own digest, by service name. */
  readonly configuration: Readonly<Record<string, GivenConfiguration>>;
  /** Resolves once all services are deployed. */
  readonly ready: Output<unknown>;

  /**
   * @throws {ConfigError} with the problems of all services at once, before any resource is created.
   */
  constructor(
    name: string,
    { config, platform, secret }: Readonly<{ config: StackConfig; platform: Platform }> & Pick<StackContext, "secret">,
    opts?: ComponentResourceOptions,
  ) {
    super("gatehouse:index:Gatehouse", name, {}, opts);
    const { addresses, published, restart } = platform;
    const services = requireNoProblems(buildServices(config, { prefix: name, addresses, published, restart, secret }));
    const built = listBuiltServices(services);
    this.configuration = Object.fromEntries(
      built.flatMap(({ definition, spec }) =>
        definition !== undefined && isOperatedService(spec.name)
          ? [[spec.name, describeGivenConfiguration(definition, spec)]]
          : [],
      ),
    );
    const specs = built.map(({ spec }) => spec);
    platform.allowEdges(specs);
    platform.registerMonitoring(specs);
    this.ready = this.#deploy(services, { name, platform, schedule: config.volumeSnapshots?.schedule });
    this.registerOutputs({});
  }

  #deploy(
    services: StackServices,
    { name, platform, schedule }: Readonly<{ name: string; platform: Platform; schedule: string | undefined }>,
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
          ? new Node(`${name}-node`, { services, schedule, ...place }, { parent: this })
          : new Service(
              formatServiceType(service),
              `${name}-${service}`,
              { service: built, ...place },
              { parent: this },
            );
      ready.set(service, made.ready);
      return [made.ready];
    };
    const alone = listBuiltServices(services).filter(({ spec }) => !deployedWithNode.has(spec.name));
    return all(alone.flatMap(({ spec }) => deploy(spec.name)).map(({ urn }) => urn));
  }
}

/** Services deployed with the node: in its pod, or before its first start. */
const deployedWithNode = new Set<ServiceName>(["sidecar", "restore", "volume-snapshot"]);

/** A node, the sidecar that reconciles it and guards its RPC, and the services that restore its data and take snapshots of it. */
class Node extends ComponentResource {
  readonly ready: Resource;

  constructor(
    name: string,
    {
      services: { node, sidecar, restore, "volume-snapshot": snapshot },
      schedule,
      platform,
      after,
    }: Readonly<{
      services: StackServices;
      schedule: string | undefined;
      platform: Platform;
      after: Attachment["dependsOn"];
    }>,
    opts: ComponentResourceOptions,
  ) {
    super("gatehouse:index:Node", name, {}, opts);
    const snapshots = snapshot && schedule !== undefined ? { spec: snapshot.spec, schedule } : undefined;
    this.ready = platform.deployNode(
      { node: node.spec, sidecar: sidecar.spec, restore: restore?.spec, snapshots },
      { parent: this, dependsOn: after },
    );
    this.registerOutputs({});
  }
}
