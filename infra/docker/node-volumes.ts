import { hash } from "node:crypto";
import * as docker from "@pulumi/docker";
import { interpolate, output, type CustomResourceOptions, type Input } from "@pulumi/pulumi";

/** The volumes by which a service runs from a copy of its image's programs. */
export type ProgramVolumes = Readonly<{
  /** Filled by the engine with what the image has, the first time that a container of the image mounts it. */
  original: docker.Volume;
  /** Copy that the service runs from, owned by its user. */
  copy: docker.Volume;
}>;

/**
 * Creates the volumes of an image's programs. Their names contain the image, so that another image gets new ones: an engine fills an empty
 * volume alone, and would run a node's new version with the old one's programs.
 */
export function createProgramVolumes(
  prefix: string,
  {
    image,
    labels,
    options,
  }: Readonly<{ image: Input<string>; labels: docker.VolumeArgs["labels"]; options: CustomResourceOptions }>,
): ProgramVolumes {
  const revision = output(image).apply((id) => hash("sha256", id).slice(0, 12));
  const make = (role: string) => {
    const name = `${prefix}-${role}`;
    return new docker.Volume(
      name,
      { name: interpolate`${name}-${revision}`, ...(labels === undefined ? {} : { labels }) },
      options,
    );
  };
  return { original: make("image-bin"), copy: make("bin") };
}

/**
 * Builds options of the engine's own driver that make a volume of a directory of another volume, as a Kubernetes `subPath` does; the engine's
 * option for that, `Subpath`, came with API 1.45. The directory has to be there when a container mounts it.
 */
function buildVolumeView({ mountpoint }: docker.Volume, directory: string): docker.VolumeArgs["driverOpts"] {
  return { type: "none", o: "bind", device: interpolate`${mountpoint}/${directory}` };
}

/** Creates a volume of the engine, or one that is a directory of another. */
export function createVolume(
  name: string,
  {
    labels,
    keep,
    view,
  }: Readonly<{
    labels: NonNullable<docker.VolumeArgs["labels"]>;
    /** Whether it is protected against deletion. */
    keep: boolean;
    view: Readonly<{ of: docker.Volume; directory: string }> | undefined;
  }>,
  options: CustomResourceOptions,
): docker.Volume {
  if (view === undefined) {
    return new docker.Volume(name, { name, labels }, { ...options, protect: keep, retainOnDelete: keep });
  }
  const driverOpts = buildVolumeView(view.of, view.directory);
  return new docker.Volume(name, { name, labels, driver: "local", driverOpts }, options);
}
