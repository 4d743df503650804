import * as docker from "@pulumi/docker";
import { ComponentResource, type ComponentResourceOptions, type Input } from "@pulumi/pulumi";
import { version } from "#daemon/version.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { ImageArchitecture } from "../images/image-dependencies.ts";
import type { ImageName } from "../services/service-spec.ts";
import type { ImageBuilder } from "./engine.ts";

/** Sources of the images; an image is built here unless configured. */
export type GatehouseImagesArgs = Pick<StackConfig, "baseImage" | "nodeUser"> &
  Readonly<{
    named: Readonly<Partial<Record<ImageName, string>>>;
    /** Whether the devnet image is needed but not configured. */
    buildsDevnet: boolean;
    /** The root of the repository: the build context, in which {@link installImageDependencies} has been run. */
    root: string;
    /** Prefix for the names of built images, so that two stacks on one engine don't use each other's images. */
    prefix: string;
    begin: string;
    builder: ImageBuilder;
    architecture: ImageArchitecture;
  }>;

export class GatehouseImages extends ComponentResource {
  /** Id or digest of each image, which changes with the image's content. */
  readonly identified: Readonly<Partial<Record<ImageName, Input<string>>>>;
  readonly #args: GatehouseImagesArgs;

  constructor(name: string, args: GatehouseImagesArgs, opts?: ComponentResourceOptions) {
    super("gatehouse:docker:GatehouseImages", name, {}, opts);
    this.#args = args;
    const { named } = args;
    const pulled = Object.fromEntries(Object.entries(named).map(([role, image]) => [role, this.#pulled(role, image)]));
    this.identified = { ...pulled, ...this.#built(pulled) };
    this.registerOutputs({});
  }

  /** Builds the images that are not configured; the devnet image is based on Gatehouse's. */
  #built(pulled: Readonly<Partial<Record<ImageName, Input<string>>>>): Partial<Record<ImageName, Input<string>>> {
    const { named, baseImage, nodeUser, buildsDevnet } = this.#args;
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
      GATEHOUSE_IMAGE: own?.imageName ?? named.gatehouse ?? "",
      // A rebuild doesn't change the tag.
      GATEHOUSE_DIGEST: gatehouse,
    });
    return { gatehouse, devnet: devnet.repoDigest };
  }

  #build(role: "gatehouse" | "devnet", args: Readonly<Record<string, Input<string>>>): docker.Image {
    return new docker.Image(
      `${this.#args.begin}${role}-image`,
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

  #pulled(role: string, name: string): Input<string> {
    return new docker.RemoteImage(`${this.#args.begin}${role}-image`, { name, keepLocally: true }, { parent: this })
      .imageId;
  }
}
