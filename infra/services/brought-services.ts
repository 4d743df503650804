import { listStackServices } from "#daemon/stack-services.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { BroughtContext, BroughtService } from "./brought-service.ts";
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
  // Prometheus scrapes the services above.
  prometheus,
  alertmanager,
  grafana,
};

/** Name of an optional service. */
export type BroughtName = keyof typeof table;

type ArgsOf = { [Name in BroughtName]: (typeof table)[Name] extends BroughtService<infer Args> ? Args : never };

/** Arguments of a stack's optional services, by name; `undefined` for those that it omits. */
export type BroughtArgs = Readonly<{ [Name in BroughtName]: ArgsOf[Name] | undefined }>;

const services: Readonly<{ [Name in BroughtName]: BroughtService<ArgsOf[Name]> }> = table;
const names = Object.keys(table) as BroughtName[];

/** Whether a stack has a service, required or optional. */
export function hasService(config: StackConfig, name: ServiceName): boolean {
  return !isBroughtName(name) || services[name].isBrought(config);
}

/** Lists the optional services that a stack includes, in table order. */
export function listBrought(config: StackConfig): readonly BroughtName[] {
  return names.filter((name) => services[name].isBrought(config));
}

/** Whether a service is optional. */
export function isBroughtName(name: ServiceName): name is BroughtName {
  return Object.hasOwn(table, name);
}

/** Reads the arguments of the optional services that a stack includes. */
export function readBroughtArgs(config: StackConfig, context: BroughtContext): BroughtArgs {
  const read = (name: BroughtName) =>
    services[name].isBrought(config) ? services[name].readArgs(config, context) : undefined;
  return Object.fromEntries(names.map((name) => [name, read(name)])) as BroughtArgs;
}

/** Builds the optional services that a stack includes. */
export function buildBrought(
  args: BroughtArgs,
  others: readonly ServiceSpec[],
): Readonly<Partial<Record<BroughtName, BuiltService>>> {
  const built = new Map<BroughtName, BuiltService>();
  for (const name of names) {
    const made = buildOne(name, args[name], sortSpecs([...others, ...[...built.values()].map(({ spec }) => spec)]));
    if (made !== undefined) built.set(name, made);
  }
  return Object.fromEntries(built);
}

function sortSpecs(specs: readonly ServiceSpec[]): readonly ServiceSpec[] {
  return listStackServices().flatMap((name) => specs.filter((spec) => spec.name === name));
}

function buildOne<Name extends BroughtName>(
  name: Name,
  args: ArgsOf[Name] | undefined,
  others: readonly ServiceSpec[],
): BuiltService | undefined {
  return args === undefined ? undefined : services[name].build(args, others);
}
