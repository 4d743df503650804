import type { StackConfig } from "../config/config-schema.ts";
import { listObservabilityImages } from "./observability/observability-args.ts";
import { findPushgatewayImage } from "./push-target.ts";
import type { ImageName } from "./service-spec.ts";

/** The keys of a stack's configuration that name images by reference. */
export const imageKeys = {
  gatehouse: "gatehouseImage",
  devnet: "devnetImage",
  node: "nodeImage",
  postgres: "postgresImage",
  pushgateway: "pushgatewayImage",
  prometheus: "observability.prometheus.image",
  alertmanager: "observability.alertmanager.image",
  grafana: "observability.grafana.image",
} as const satisfies Readonly<Record<ImageName, string>>;

/** Whether a stack sells the sample, because it names no routes. */
export function sellsSample({ routes }: Pick<StackConfig, "routes">): boolean {
  return Object.keys(routes).length === 0;
}

/** Whether a stack runs something from the devnet's image: the devnet node, or the upstream of the sample. */
export function usesDevnetImage(config: Pick<StackConfig, "nodeImage" | "routes">): boolean {
  return config.nodeImage === undefined || sellsSample(config);
}

/** Lists the images of a stack that are named by reference. On Docker, Gatehouse's own two are built if they are not named. */
export function listImages(config: StackConfig): Readonly<Partial<Record<ImageName, string>>> {
  const named = {
    gatehouse: config.gatehouseImage,
    devnet: usesDevnetImage(config) ? config.devnetImage : undefined,
    node: config.nodeImage,
    postgres: config.postgresImage,
    pushgateway: findPushgatewayImage(config),
    ...listObservabilityImages(config),
  };
  return Object.fromEntries(Object.entries(named).filter(([, reference]) => reference !== undefined));
}

/** Finds the images of a stack that are named nowhere. */
export function findUnnamedImages(config: StackConfig): readonly ("gatehouse" | "devnet")[] {
  const named = listImages(config);
  const own = usesDevnetImage(config) ? (["gatehouse", "devnet"] as const) : (["gatehouse"] as const);
  return own.filter((name) => named[name] === undefined);
}
