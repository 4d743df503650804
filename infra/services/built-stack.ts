import { listStackServices } from "../stack-services.ts";
import { deploymentSecret } from "../config/pulumi-config.ts";
import type { ConfigProblem } from "../config/config-problem.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { buildBundled } from "./bundled-services.ts";
import type { BuiltService } from "./built-service.ts";
import { engineProxySpec } from "./engine-proxy-spec.ts";
import { facilitatorSpec } from "./facilitator-spec.ts";
import { devAccounts } from "./node/dev-accounts.ts";
import { nodeSpec } from "./node-spec.ts";
import { resourceServerSpec } from "./resource-server-spec.ts";
import { restoreSpec } from "./restore-spec.ts";
import type { ServiceName } from "./service-spec.ts";
import { sidecarSpec } from "./sidecar-spec.ts";
import { stackArgs, type StackArgs } from "./stack-specs.ts";
import { describeTarget } from "./target-context.ts";
import { volumeSnapshotSpec } from "./volume-snapshot-spec.ts";

/** A stack's services by name: the required ones, and the optional ones that it includes. */
export type StackServices = Readonly<
  Partial<Record<ServiceName, BuiltService>> & Record<"node" | "sidecar", BuiltService>
>;

/** Builds each service of a stack once. */
export function buildServices(args: StackArgs): StackServices {
  const own: StackServices = {
    node: nodeSpec(args.node),
    sidecar: sidecarSpec(args.sidecar),
    ...(args.restore && { restore: restoreSpec(args.restore) }),
    ...(args.volumeSnapshots && { "volume-snapshot": volumeSnapshotSpec(args.volumeSnapshots) }),
    facilitator: facilitatorSpec(args.facilitator),
    "resource-server": resourceServerSpec(args.resourceServer),
  };
  const specs = listBuiltServices(own).map(({ spec }) => spec);
  return { ...own, ...buildBundled(args, specs) };
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
  const args = stackArgs(complete, { prefix, ...describeTarget(config, prefix), secret: deploymentSecret });
  const settings = config.settings["engine-proxy"];
  const proxy = engineProxySpec({ container: `${prefix}-node`, binDirectory: undefined, settings });
  const built = [...listBuiltServices(buildServices(args)), ...(config.target === "docker" ? [proxy] : [])];
  return built.flatMap(({ problems }) => problems);
}
