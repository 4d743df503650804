import type { HostPortName } from "#daemon/stack-services.ts";
import { declaredKeys, type StackConfig } from "../config/config-schema.ts";
import { findRenderedValue } from "./rendered-settings.ts";
import type { ImageName } from "./service-spec.ts";

/** Finds the key of a stack's configuration that names an image: `pushgatewayImage`, `observability.grafana.image`. */
export function findImageKey(name: ImageName): string {
  return findKey(name, "image");
}

/** Finds the key of a stack's configuration that sets a port of the Docker host: `pushgatewayPort`, `observability.grafana.port`. */
export function findPortKey(name: HostPortName): string {
  return findKey(name, "port");
}

/** Reads the image of a name; `undefined` if the configuration names none. */
export function readImage(config: StackConfig, name: ImageName): string | undefined {
  const value = findRenderedValue(config, findImageKey(name).split("."));
  return typeof value === "string" ? value : undefined;
}

/** Reads the host's port of a name; `undefined` if its section of the configuration is absent. */
export function readHostPort(config: StackConfig, name: HostPortName): number | undefined {
  const value = findRenderedValue(config, findPortKey(name).split("."));
  return typeof value === "number" ? value : undefined;
}

function findKey(name: string, what: "image" | "port"): string {
  const own = `${name}${what === "image" ? "Image" : "Port"}`;
  return Object.hasOwn(declaredKeys, own) ? own : `observability.${name}.${what}`;
}
