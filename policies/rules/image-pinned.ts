import type { ResourceRule } from "../rule.ts";
import { checkContainers } from "../workload-of.ts";

const byId = /^sha256:[0-9a-f]{64}$/;
const byDigest = /^(?<name>[^@\s]+)@sha256:[0-9a-f]{64}$/;

/** Rule 1: images are pinned, so that the reviewed ones run. */
export const imagePinned: ResourceRule = {
  scope: "resource",
  name: "image-pinned",
  severity: "high",
  why: "A tag can be moved to another image after it was reviewed; a digest can't.",
  remedy: "Name the image as registry/name@sha256:…, from a registry in the pack's allowedRegistries.",
  check: (resource, { allowedRegistries }) =>
    checkContainers(resource, (container) => {
      const image = container.image();
      if (image === undefined) return ["names no image"];
      if (byId.test(image)) return [];
      const name = byDigest.exec(image)?.groups?.["name"];
      if (name === undefined) return [`runs ${image}, which names no digest`];
      if (allowedRegistries.length === 0) return [];
      const registry = name.includes("/") ? (name.split("/")[0] ?? "") : "";
      return allowedRegistries.includes(registry)
        ? []
        : [`runs ${image}; allowed registries are ${allowedRegistries.join(", ")}`];
    }),
};
