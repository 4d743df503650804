import type { StackConfig } from "../config/config-schema.ts";
import type { ServiceName } from "./service-spec.ts";

/** The services that a stack includes depending on its configuration. */
const optional = {
  postgres: ({ postgresImage }) => postgresImage !== undefined,
  pushgateway: ({ pushgatewayUrl }) => pushgatewayUrl === undefined,
  upstream: sellsSample,
  prometheus: ({ observability }) => observability?.prometheus !== undefined,
  alertmanager: ({ observability }) => observability?.alertmanager !== undefined,
  grafana: ({ observability }) => observability?.grafana !== undefined,
} as const satisfies Readonly<Partial<Record<ServiceName, (config: StackConfig) => boolean>>>;

export type OptionalService = keyof typeof optional;

export function isOptionalService(name: ServiceName): name is OptionalService {
  return Object.hasOwn(optional, name);
}

export function hasService(config: StackConfig, name: ServiceName): boolean {
  return !isOptionalService(name) || optional[name](config);
}

export function listIncludedServices(config: StackConfig): readonly OptionalService[] {
  return (Object.keys(optional) as OptionalService[]).filter((name) => optional[name](config));
}

/** Whether a stack sells the sample, because it configures no routes of its own. */
export function sellsSample({ routes }: Pick<StackConfig, "routes">): boolean {
  return Object.keys(routes).length === 0;
}
