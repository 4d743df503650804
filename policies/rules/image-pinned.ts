import type { ResourceRule, RuleOptions } from "../rule.ts";
import { checkContainers } from "../workload-of.ts";
import { isUnknown, readText } from "../values.ts";

const imageId = /^sha256:[0-9a-f]{64}$/;
const digestReference = /^(?<name>[^@\s]+)@sha256:[0-9a-f]{64}$/;

/** A Docker container has the id of the pulled image, or nothing at preview, so the check uses the name in the image's own resource. */
export const imagePinned: ResourceRule = {
  scope: "resource",
  name: "image-pinned",
  severity: "high",
  why: "A tag can be moved to another image after review; a digest can't.",
  remedy: "Specify the image as registry/name@sha256:…, from a registry in the pack's allowedRegistries.",
  check: (resource, options) => {
    if (resource.type === "docker:index/remoteImage:RemoteImage")
      return checkImage(readText(resource.props["name"]), "pulls", options);
    return checkContainers(resource, (container, { kind }) => {
      if (kind === "docker" && isUnknown(container.image)) return [];
      const image = container.image();
      return image !== undefined && imageId.test(image) ? [] : checkImage(image, "runs", options);
    });
  },
};

function checkImage(
  image: string | undefined,
  verb: "pulls" | "runs",
  { allowedRegistries }: RuleOptions,
): readonly string[] {
  if (image === undefined) return ["has no valid image"];
  const name = digestReference.exec(image)?.groups?.["name"];
  if (name === undefined) return [`${verb} ${image}, which has no digest`];
  if (allowedRegistries.length === 0) return [];
  const registry = name.includes("/") ? (name.split("/")[0] ?? "") : "";
  return allowedRegistries.includes(registry)
    ? []
    : [`${verb} ${image}; allowed registries are ${allowedRegistries.join(", ")}`];
}
