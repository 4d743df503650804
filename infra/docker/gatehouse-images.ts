import * as docker from "@pulumi/docker";
import { ComponentResource, type ComponentResourceOptions, type Input } from "@pulumi/pulumi";
import { version } from "#daemon/version.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { ImageArchitecture } from "../images/image-dependencies.ts";
import type { ImageName } from "../services/service-spec.ts";
import type { ImageBuilder } from "./engine.ts";

/** Sources of the images; an image without a reference is built here. */
export type GatehouseImagesArgs = Pick<StackConfig, "baseImage" | "nodeUser"> &
  Readonly<{
    images: Readonly<Partial<Record<ImageName, string>>>;
    /** Whether the devnet image is needed but not configured. */
    buildsDevnet: boolean;
    /** The root of the repository: the build context, in which {@link installImageDependencies} has been run. */
    root: string;
    /** Prefix for the names of built images, so that two stacks on one engine don't use each other's images. */
    prefix: string;
    namePrefix: string;
    builder: ImageBuilder;
    architecture: ImageArchitecture;
  }>;

export class GatehouseImages extends ComponentResource {
  /** Id or digest of each image, which changes with the image's content. */
  readonly imageIds: Readonly<Partial<Record<ImageName, Input<string>>>>;
  readonly #args: GatehouseImagesArgs;

  constructor(name: string, args: GatehouseImagesArgs, opts?: ComponentResourceOptions) {
    super("gatehouse:docker:GatehouseImages", name, {}, opts);
    this.#args = args;
    const { images } = args;
    const pulled = Object.fromEntries(Object.entries(images).map(([role, image]) => [role, this.#pull(role, image)]));
    this.imageIds = { ...pulled, ...this.#buildMissing(pulled) };
    this.registerOutputs({});
  }

  /** Builds the images that are not configured; the devnet image is based on Gatehouse's. */
  #buildMissing(pulled: GatehouseImages["imageIds"]): GatehouseImages["imageIds"] {
    const { images, baseImage, nodeUser, buildsDevnet } = this.#args;
    const own =
      pulled.gatehouse === undefined
        ? this.#build("gatehouse", {
            BASE_IMAGE: baseImage,
            ...(nodeUser === undefined ? {} : { NODE_USER: String(nodeUser) }),
          })
        : undefined;
    const gatehouse = own?.repoDigest ?? pulled.gatehouse ?? "";
    if (!buildsDevnet) return { gatehouse };
    const devnet = this.#build("devnet", {
      GATEHOUSE_IMAGE: own?.imageName ?? images.gatehouse ?? "",
      // A rebuild doesn't change the tag.
      GATEHOUSE_DIGEST: gatehouse,
    });
    return { gatehouse, devnet: devnet.repoDigest };
  }

  #build(role: "gatehouse" | "devnet", args: Readonly<Record<string, Input<string>>>): docker.Image {
    return new docker.Image(
      `${this.#args.namePrefix}${role}-image`,
      {
        imageName: `${this.#args.prefix.toLowerCase()}/${role}:local`,
        skipPush: true,
        build: {
          context: this.#args.root,
          dockerfile: `${this.#args.root}/infra/images/${role}.Dockerfile`,
          builderVersion: this.#args.builder,
          platform: `linux/${this.#args.architecture}`,
          args: { ...args, VERSION: version },
        },
      },
      { parent: this },
    );
  }

  #pull(role: string, name: string): Input<string> {
    const args = { name, keepLocally: true };
    return new docker.RemoteImage(`${this.#args.namePrefix}${role}-image`, args, { parent: this }).imageId;
  }
}
