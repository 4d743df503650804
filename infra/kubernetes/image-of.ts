import type { Input } from "@pulumi/pulumi";
import type { ImageName } from "../services/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";

/** The reference of an image. @throws {Error} when the stack was given none, which the configuration's check rules out. */
export function imageOf(options: KubernetesOptions, name: ImageName): Input<string> {
  const image = options.images[name];
  if (image === undefined) throw new Error(`this namespace was given no image named ${name}`);
  return image;
}
