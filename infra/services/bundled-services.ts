import { listStackServices } from "../stack-services.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { BundledContext, BundledService } from "./bundled-service.ts";
import type { BuiltService } from "./built-service.ts";
import { alertmanager } from "./observability/alertmanager-spec.ts";
import { grafana } from "./observability/grafana-spec.ts";
import { prometheus } from "./observability/prometheus-spec.ts";
import { postgres } from "./postgres-spec.ts";
import { pushgateway } from "./pushgateway-spec.ts";
import type { ServiceName, ServiceSpec } from "./service-spec.ts";
import { upstream } from "./upstream-spec.ts";

const table = {
  postgres,
  pushgateway,
  upstream,
  // Scrapes the services above it, so it must come after them.
  prometheus,
  alertmanager,
  grafana,
};

/** Name of an optional service. */
export type BundledName = keyof typeof table;

type ArgsOf = { [Name in BundledName]: (typeof table)[Name] extends BundledService<infer Args> ? Args : never };

/** Arguments for a stack's optional services, by name; `undefined` for services that it omits. */
export type BundledArgs = Readonly<{ [Name in BundledName]: ArgsOf[Name] | undefined }>;

const services: Readonly<{ [Name in BundledName]: BundledService<ArgsOf[Name]> }> = table;
const names = Object.keys(table) as BundledName[];

/** Whether a stack has a service, required or optional. */
export function hasService(config: StackConfig, name: ServiceName): boolean {
  return !isOptionalService(name) || services[name].isBundled(config);
}

/** Lists the optional services that a stack includes, in table order. */
export function listIncludedServices(config: StackConfig): readonly BundledName[] {
  return names.filter((name) => services[name].isBundled(config));
}

/** Whether a service is optional. */
export function isOptionalService(name: ServiceName): name is BundledName {
  return Object.hasOwn(table, name);
}

/** Reads the arguments for the optional services that a stack includes. */
export function readBundledArgs(config: StackConfig, context: BundledContext): BundledArgs {
  const read = (name: BundledName) =>
    services[name].isBundled(config) ? services[name].readArgs(config, context) : undefined;
  return Object.fromEntries(names.map((name) => [name, read(name)])) as BundledArgs;
}

/** Builds the optional services that a stack includes. */
export function buildBundled(
  args: BundledArgs,
  others: readonly ServiceSpec[],
): Readonly<Partial<Record<BundledName, BuiltService>>> {
  const built = new Map<BundledName, BuiltService>();
  for (const name of names) {
    const made = buildOne(name, args[name], sortSpecs([...others, ...[...built.values()].map(({ spec }) => spec)]));
    if (made !== undefined) built.set(name, made);
  }
  return Object.fromEntries(built);
}

function sortSpecs(specs: readonly ServiceSpec[]): readonly ServiceSpec[] {
  return listStackServices().flatMap((name) => specs.filter((spec) => spec.name === name));
}

function buildOne<Name extends BundledName>(
  name: Name,
  args: ArgsOf[Name] | undefined,
  others: readonly ServiceSpec[],
): BuiltService | undefined {
  return args === undefined ? undefined : services[name].build(args, others);
}
