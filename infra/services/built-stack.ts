import { listStackServices } from "../stack-services.ts";
import { deploymentSecret } from "../config/pulumi-config.ts";
import type { ConfigProblem } from "../config/config-problem.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { BuiltService } from "./built-service.ts";
import { engineProxySpec } from "./engine-proxy-spec.ts";
import { facilitatorSpec, readFacilitatorArgs } from "./facilitator-spec.ts";
import { devAccounts } from "./node/dev-accounts.ts";
import { nodeSpec } from "./node-spec.ts";
import { alertmanagerSpec } from "./observability/alertmanager-spec.ts";
import { grafanaSpec } from "./observability/grafana-spec.ts";
import { prometheusSpec } from "./observability/prometheus-spec.ts";
import { hasService } from "./optional-services.ts";
import { postgresSpec } from "./postgres-spec.ts";
import { pushgatewaySpec } from "./pushgateway-spec.ts";
import { resourceServerSpec } from "./resource-server-spec.ts";
import { restoreSpec } from "./restore-spec.ts";
import type { ServiceName } from "./service-spec.ts";
import { sidecarSpec } from "./sidecar-spec.ts";
import { describeTarget, type StackContext } from "./stack-context.ts";
import { upstreamSpec } from "./upstream-spec.ts";
import { volumeSnapshotSpec } from "./volume-snapshot-spec.ts";

/** A stack's services by name: the required ones, and the optional ones that it includes. */
export type StackServices = Readonly<
  Partial<Record<ServiceName, BuiltService | undefined>> & Record<"node" | "sidecar", BuiltService>
>;

export function buildServices(config: StackConfig, context: StackContext): StackServices {
  const include = <Built>(name: ServiceName, build: () => Built) => (hasService(config, name) ? build() : undefined);
  const scraped: StackServices = {
    node: nodeSpec(config, context),
    sidecar: sidecarSpec(config, context),
    restore: restoreSpec(config),
    "volume-snapshot": volumeSnapshotSpec(config),
    facilitator: facilitatorSpec(readFacilitatorArgs(config, context)),
    "resource-server": resourceServerSpec(config, context),
    postgres: include("postgres", () => postgresSpec(config, context)),
    pushgateway: include("pushgateway", () => pushgatewaySpec(config)),
    upstream: include("upstream", () => upstreamSpec(config)),
  };
  const specs = listBuiltServices(scraped).map(({ spec }) => spec);
  return {
    ...scraped,
    prometheus: include("prometheus", () => prometheusSpec(config, context, specs)),
    alertmanager: include("alertmanager", () => alertmanagerSpec(config, context)),
    grafana: include("grafana", () => grafanaSpec(config, context)),
  };
}

/** Lists services in the order of the full service table. */
export function listBuiltServices(services: StackServices): readonly BuiltService[] {
  return listStackServices().flatMap((name) => services[name] ?? []);
}

/** Placeholders for missing values, so that the rest of a stack can still be checked; the missing values are reported separately. */
const standIns = {
  signerPrivateKey: devAccounts.signer.privateKey,
  payTo: devAccounts.payee.address,
  tokenAddress: devAccounts.payee.address,
} as const;

/** Reports settings and routes that a stack's services would reject. Registers no resources. */
export function findServiceProblems(config: StackConfig, prefix: string): readonly ConfigProblem[] {
  const { devAccounts: hasAccounts, tokenAddress = standIns.tokenAddress } = config;
  const complete = hasAccounts ? { ...config, tokenAddress } : { ...standIns, ...config };
  const services = buildServices(complete, { prefix, ...describeTarget(config, prefix), secret: deploymentSecret });
  const settings = config.settings["engine-proxy"];
  const proxy = engineProxySpec({ container: `${prefix}-node`, binDirectory: undefined, settings });
  const built = [...listBuiltServices(services), ...(config.target === "docker" ? [proxy] : [])];
  return built.flatMap(({ problems }) => problems);
}
