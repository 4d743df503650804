import type { HostPortName } from "../stack-services.ts";
import { declaredKeys, type StackConfig } from "../config/config-schema.ts";
import { findRenderedValue } from "./rendered-settings.ts";
import type { ImageName } from "./service-spec.ts";

/** Returns the configuration key of an image: `pushgatewayImage`, `observability.grafana.image`. */
export function findImageKey(name: ImageName): string {
  return findKey(name, "image");
}

/** Returns the configuration key of a Docker host port: `pushgatewayPort`, `observability.grafana.port`. */
export function findPortKey(name: HostPortName): string {
  return findKey(name, "port");
}

export function readImage(config: StackConfig, name: ImageName): string | undefined {
  const value = findRenderedValue(config, findImageKey(name).split("."));
  return typeof value === "string" ? value : undefined;
}

/** Returns the host port configured under a name; `undefined` if its configuration section is absent. */
export function readHostPort(config: StackConfig, name: HostPortName): number | undefined {
  const value = findRenderedValue(config, findPortKey(name).split("."));
  return typeof value === "number" ? value : undefined;
}

function findKey(name: string, what: "image" | "port"): string {
  const own = `${name}${what === "image" ? "Image" : "Port"}`;
  return Object.hasOwn(declaredKeys, own) ? own : `observability.${name}.${what}`;
}
