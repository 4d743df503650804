import { listStackServices } from "../stack-services.ts";
import { deploymentSecret } from "../config/pulumi-config.ts";
import type { ConfigProblem } from "../config/config-problem.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { BuiltService } from "./built-service.ts";
import { buildEngineProxySpec } from "./engine-proxy-spec.ts";
import { facilitatorSpec, readFacilitatorArgs } from "./facilitator-spec.ts";
import { devAccounts } from "./node/dev-accounts.ts";
import { buildNodeSpec } from "./node-spec.ts";
import { buildAlertmanagerSpec } from "./observability/alertmanager-spec.ts";
import { buildGrafanaSpec } from "./observability/grafana-spec.ts";
import { buildPrometheusSpec } from "./observability/prometheus-spec.ts";
import { hasService } from "./optional-services.ts";
import { buildPostgresSpec } from "./postgres-spec.ts";
import { buildPushgatewaySpec } from "./pushgateway-spec.ts";
import { buildResourceServerSpec } from "./resource-server-spec.ts";
import { buildRestoreSpec } from "./restore-spec.ts";
import type { ServiceName } from "./service-spec.ts";
import { buildSidecarSpec } from "./sidecar-spec.ts";
import { describeTarget, type StackContext } from "./stack-context.ts";
import { buildUpstreamSpec } from "./upstream-spec.ts";
import { buildVolumeSnapshotSpec } from "./volume-snapshot-spec.ts";

/** A stack's services by name: the required ones, and the optional ones that it includes. */
export type StackServices = Readonly<
  Partial<Record<ServiceName, BuiltService | undefined>> & Record<"node" | "sidecar", BuiltService>
>;

export function buildServices(config: StackConfig, context: StackContext): StackServices {
  const include = <Built>(name: ServiceName, build: () => Built) => (hasService(config, name) ? build() : undefined);
  const scraped: StackServices = {
    node: buildNodeSpec(config, context),
    sidecar: buildSidecarSpec(config, context),
    restore: buildRestoreSpec(config),
    "volume-snapshot": buildVolumeSnapshotSpec(config),
    facilitator: facilitatorSpec(readFacilitatorArgs(config, context)),
    "resource-server": buildResourceServerSpec(config, context),
    postgres: include("postgres", () => buildPostgresSpec(config, context)),
    pushgateway: include("pushgateway", () => buildPushgatewaySpec(config)),
    upstream: include("upstream", () => buildUpstreamSpec(config)),
  };
  const specs = listBuiltServices(scraped).map(({ spec }) => spec);
  return {
    ...scraped,
    prometheus: include("prometheus", () => buildPrometheusSpec(config, context, specs)),
    alertmanager: include("alertmanager", () => buildAlertmanagerSpec(config, context)),
    grafana: include("grafana", () => buildGrafanaSpec(config, context)),
  };
}

/** Lists services in the order of the full service table. */
export function listBuiltServices(services: StackServices): readonly BuiltService[] {
  return listStackServices().flatMap((name) => services[name] ?? []);
}

/** Placeholders for missing values, so that the rest of a stack can still be checked; the missing values are reported separately. */
const placeholders = {
  signerPrivateKey: devAccounts.signer.privateKey,
  payTo: devAccounts.payee.address,
  tokenAddress: devAccounts.payee.address,
} as const;

/** Reports settings and routes that a stack's services would reject. Registers no resources. */
export function findServiceProblems(config: StackConfig, prefix: string): readonly ConfigProblem[] {
  const { devAccounts: hasAccounts, tokenAddress = placeholders.tokenAddress } = config;
  const complete = hasAccounts ? { ...config, tokenAddress } : { ...placeholders, ...config };
  const services = buildServices(complete, { prefix, ...describeTarget(config, prefix), secret: deploymentSecret });
  const settings = config.settings["engine-proxy"];
  const proxy = buildEngineProxySpec({ container: `${prefix}-node`, binDirectory: undefined, settings });
  const built = [...listBuiltServices(services), ...(config.target === "docker" ? [proxy] : [])];
  return built.flatMap(({ problems }) => problems);
}
