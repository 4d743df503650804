import { hash } from "node:crypto";
import * as docker from "@pulumi/docker";
import { interpolate, output, type CustomResourceOptions, type Input } from "@pulumi/pulumi";

export type ProgramVolumes = Readonly<{
  /** The engine fills this volume from the image when a container first mounts it. */
  original: docker.Volume;
  /** The copy from which the service runs, owned by the service's user. */
  copy: docker.Volume;
}>;

/**
 * Creates the volumes for an image's programs. Their names contain the image, so each image gets new ones: an engine fills only empty
 * volumes, so it would otherwise run the new version of a node with the old version's programs.
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
 * Builds the options for the engine's own driver that expose a directory of another volume as a volume, like a `subPath` in Kubernetes; the
 * engine's own option, `Subpath`, requires API 1.45. The directory must exist when a container mounts the volume.
 */
function buildVolumeView({ mountpoint }: docker.Volume, directory: string): docker.VolumeArgs["driverOpts"] {
  return { type: "none", o: "bind", device: interpolate`${mountpoint}/${directory}` };
}

export function createVolume(
  name: string,
  {
    labels,
    retain,
    view,
  }: Readonly<{
    labels: NonNullable<docker.VolumeArgs["labels"]>;
    retain: boolean;
    view: Readonly<{ of: docker.Volume; directory: string }> | undefined;
  }>,
  options: CustomResourceOptions,
): docker.Volume {
  if (view === undefined) {
    return new docker.Volume(name, { name, labels }, { ...options, protect: retain, retainOnDelete: retain });
  }
  const driverOpts = buildVolumeView(view.of, view.directory);
  return new docker.Volume(name, { name, labels, driver: "local", driverOpts }, options);
}
