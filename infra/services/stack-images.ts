import { findServiceRow, stackServices } from "../stack-services.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { listIncludedServices } from "./optional-services.ts";
import { readImage } from "./row-keys.ts";
import type { ImageName } from "./service-spec.ts";

export function usesDevnetImage(config: StackConfig): boolean {
  return (
    config.nodeImage === undefined ||
    listIncludedServices(config).some((name) => stackServices[name].image === "devnet")
  );
}

/** Lists the images of a stack that have a reference. On Docker, Gatehouse's two own images are built if they have no reference. */
export function listImages(config: StackConfig): Readonly<Partial<Record<ImageName, string>>> {
  const own: Readonly<Partial<Record<ImageName, string | undefined>>> = {
    gatehouse: config.gatehouseImage,
    devnet: usesDevnetImage(config) ? config.devnetImage : undefined,
    node: config.nodeImage,
  };
  const thirdParty = listIncludedServices(config)
    .map((name) => ({ image: stackServices[name].image, official: findServiceRow(name).official }))
    .filter(({ image }) => !Object.hasOwn(own, image))
    .map(({ image, official }) => [image, readImage(config, image) ?? official] as const);
  return Object.fromEntries([...Object.entries(own), ...thirdParty].filter(([, reference]) => reference !== undefined));
}

export function findUnconfiguredImages(config: StackConfig): readonly ("gatehouse" | "devnet")[] {
  const configured = listImages(config);
  const own = usesDevnetImage(config) ? (["gatehouse", "devnet"] as const) : (["gatehouse"] as const);
  return own.filter((name) => configured[name] === undefined);
}
