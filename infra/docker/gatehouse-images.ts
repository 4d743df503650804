import * as docker from "@pulumi/docker";
import { ComponentResource, type ComponentResourceOptions, type Input } from "@pulumi/pulumi";
import { version } from "#daemon/version.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { ImageArchitecture } from "../images/image-architecture.ts";
import type { ImageName } from "../services/service-spec.ts";
import type { ImageBuilder } from "./engine.ts";

/** Sources of the images: built here unless the configuration names them. */
export type GatehouseImagesArgs = Pick<StackConfig, "baseImage" | "nodeUser"> &
  Readonly<{
    /** References of the images that the configuration names. */
    named: Readonly<Partial<Record<ImageName, string>>>;
    /** Whether the devnet's image is needed and the configuration names none. */
    buildsDevnet: boolean;
    /** The repository's root: the build's context, where {@link installImageDependencies} has been. */
    root: string;
    /** Prefix of the names of built images, so that two stacks of one engine do not take each other's. */
    prefix: string;
    /** Prefix of the resources' names. */
    begin: string;
    builder: ImageBuilder;
    architecture: ImageArchitecture;
  }>;

/** The images that a Docker host runs. */
export class GatehouseImages extends ComponentResource {
  /** Id or digest of each image, which changes with its content. */
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

  /** Builds the images that the configuration does not name; the devnet's is made from Gatehouse's. */
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
      // The tag alone stays the same when its image is rebuilt.
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
