import { ComponentResource, type ComponentResourceOptions } from "@pulumi/pulumi";
import { facilitatorSettings } from "#facilitator/settings.ts";
import { resourceServerSettings } from "#resource-server/settings.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { describeGivenConfiguration, type GivenConfiguration, type BuiltService } from "../services/built-service.ts";
import type { Platform } from "../platform.ts";
import { facilitatorSpec } from "../services/facilitator-spec.ts";
import { nodeSpec } from "../services/node-spec.ts";
import { postgresSpec } from "../services/postgres-spec.ts";
import { pushgatewaySpec } from "../services/pushgateway-spec.ts";
import { resourceServerSpec } from "../services/resource-server-spec.ts";
import { volumeSnapshotSpec } from "../services/volume-snapshot-spec.ts";
import { restoreSpec } from "../services/restore-spec.ts";
import { sidecarSpec } from "../services/sidecar-spec.ts";
import type { StackArgs } from "../services/stack-specs.ts";
import { upstreamSpec } from "../services/upstream-spec.ts";
import { alertmanagerSpec } from "../services/observability/alertmanager-spec.ts";
import { grafanaSpec } from "../services/observability/grafana-spec.ts";
import type { ObservabilityArgs } from "../services/observability/observability-args.ts";
import { prometheusSpec } from "../services/observability/prometheus-spec.ts";
import type { ServiceSpec } from "../services/service-spec.ts";
import { Node } from "./node.ts";
import { withoutProblems, Service } from "./service.ts";

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
  /** Digests of the settings and files given to each service that reports its own, by name. */
  readonly configuration: Readonly<Record<string, GivenConfiguration>>;

  /** @throws {ConfigError} with the problems of all services at once, before anything is made. */
  constructor(name: string, args: StackArgs & Readonly<{ platform: Platform }>, opts?: ComponentResourceOptions) {
    super("gatehouse:index:Gatehouse", name, {}, opts);
    const built = buildServices(args);
    const { platform } = args;
    this.configuration = {
      sidecar: describeGivenConfiguration(sidecarSettings, built.sidecar.spec),
      facilitator: describeGivenConfiguration(facilitatorSettings, built.facilitator.spec),
      "resource-server": describeGivenConfiguration(resourceServerSettings, built.resourceServer.spec),
    };
    const specs = Object.values(built).flatMap((service) => service?.spec ?? []);
    platform.allowEdges(specs);
    platform.announce(specs);
    const here = { parent: this };
    const pushgateway =
      built.pushgateway &&
      new Service("Pushgateway", `${name}-pushgateway`, { service: built.pushgateway, platform }, here);
    const snapshots = built.snapshot &&
      args.volumeSnapshots && { service: built.snapshot, schedule: args.volumeSnapshots.schedule };
    const node = new Node(
      `${name}-node`,
      { ...built, snapshots, platform, after: pushgateway === undefined ? [] : [pushgateway.ready] },
      here,
    );
    const postgres =
      built.postgres && new Service("Postgres", `${name}-postgres`, { service: built.postgres, platform }, here);
    const ledgers = postgres === undefined ? [] : [postgres.ready];
    const facilitator = new Service(
      "Facilitator",
      `${name}-facilitator`,
      { service: built.facilitator, platform, after: [node.ready, ...ledgers] },
      here,
    );
    const upstream =
      built.upstream && new Service("Upstream", `${name}-upstream`, { service: built.upstream, platform }, here);
    const sold = upstream === undefined ? [] : [upstream.ready];
    new Service(
      "ResourceServer",
      `${name}-resource-server`,
      { service: built.resourceServer, platform, after: [facilitator.ready, ...ledgers, ...sold] },
      here,
    );
    deployWatchers(name, built, { platform, parent: this });
    this.registerOutputs({});
  }
}

/** Builds each service of a stack once. @throws {ConfigError} with the problems of all of them. */
function buildServices(args: StackArgs) {
  const services = {
    node: nodeSpec(args.node),
    sidecar: sidecarSpec(args.sidecar),
    restore: args.restore && restoreSpec(args.restore),
    snapshot: args.volumeSnapshots && volumeSnapshotSpec(args.volumeSnapshots),
    pushgateway: args.pushgateway && pushgatewaySpec(args.pushgateway),
    postgres: args.postgres && postgresSpec(args.postgres),
    facilitator: facilitatorSpec(args.facilitator),
    resourceServer: resourceServerSpec(args.resourceServer),
    upstream: args.upstream && upstreamSpec(args.upstream),
  };
  const specs = Object.values(services).flatMap((service) => service?.spec ?? []);
  return withoutProblems({ ...services, ...buildWatchers(args.observability, specs) });
}

/** Monitoring services of a stack, as far as it brings them. */
export type BuiltWatchers = Readonly<
  Partial<Record<"prometheus" | "alertmanager" | "grafana", BuiltService | undefined>>
>;

/** Builds the monitoring of these services. */
export function buildWatchers(args: ObservabilityArgs | undefined, services: readonly ServiceSpec[]): BuiltWatchers {
  if (args === undefined) return {};
  return {
    prometheus: prometheusSpec({ ...args.prometheus, services }),
    alertmanager: args.alertmanager && alertmanagerSpec(args.alertmanager),
    grafana: args.grafana && grafanaSpec(args.grafana),
  };
}

/** Deploys a stack's monitoring. It waits for no service: it is there to see which one starts too late. */
function deployWatchers(
  name: string,
  { prometheus, alertmanager, grafana }: BuiltWatchers,
  { platform, parent }: Readonly<{ platform: Platform; parent: ComponentResource }>,
): void {
  const place = (type: "Prometheus" | "Alertmanager" | "Grafana", service: BuiltService) =>
    new Service(type, `${name}-${service.spec.name}`, { service, platform }, { parent });
  if (alertmanager !== undefined) place("Alertmanager", alertmanager);
  if (prometheus !== undefined) place("Prometheus", prometheus);
  if (grafana !== undefined) place("Grafana", grafana);
}
