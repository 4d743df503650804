import * as docker from "@pulumi/docker";
import { ComponentResource, type ComponentResourceOptions, type Input } from "@pulumi/pulumi";
import { version } from "#daemon/version.ts";
import type { StackConfig } from "../config/config-schema.ts";
import type { ImageBuilder } from "./engine-traits.ts";

/** How the images are come by: built here unless the configuration names them. */
export type GatehouseImagesArgs = Pick<
  StackConfig,
  "baseImage" | "gatehouseImage" | "devnetImage" | "nodeImage" | "nodeUser" | "postgresImage" | "pushgatewayImage"
> &
  Readonly<{
    /** The repository's root: the build's context, where {@link installImageDependencies} has been. */
    root: string;
    /** Begins the names of the images that are built, so that two stacks of one engine do not take each other's. */
    prefix: string;
    builder: ImageBuilder;
  }>;

/** The images that a Docker host runs, by what identifies their content. */
export class GatehouseImages extends ComponentResource {
  readonly gatehouse: Input<string>;
  readonly devnet: Input<string>;
  readonly node: Input<string> | undefined;
  readonly postgres: Input<string> | undefined;
  readonly pushgateway: Input<string> | undefined;
  readonly #args: GatehouseImagesArgs;

  constructor(name: string, args: GatehouseImagesArgs, opts?: ComponentResourceOptions) {
    super("gatehouse:docker:GatehouseImages", name, {}, opts);
    this.#args = args;
    const built =
      args.gatehouseImage === undefined
        ? this.#build("gatehouse", {
            BASE_IMAGE: args.baseImage,
            ...(args.nodeUser === undefined ? {} : { NODE_USER: String(args.nodeUser) }),
          })
        : undefined;
    this.gatehouse = built?.repoDigest ?? this.#pulled("gatehouse", args.gatehouseImage ?? "");
    this.devnet =
      args.devnetImage === undefined
        ? this.#build("devnet", {
            GATEHOUSE_IMAGE: built?.imageName ?? args.gatehouseImage ?? "",
            // The tag alone stays the same when its image is built anew.
            GATEHOUSE_DIGEST: this.gatehouse,
          }).repoDigest
        : this.#pulled("devnet", args.devnetImage);
    this.node = args.nodeImage === undefined ? undefined : this.#pulled("node", args.nodeImage);
    this.postgres = args.postgresImage === undefined ? undefined : this.#pulled("postgres", args.postgresImage);
    this.pushgateway =
      args.pushgatewayImage === undefined ? undefined : this.#pulled("pushgateway", args.pushgatewayImage);
    this.registerOutputs({});
  }

  #build(role: "gatehouse" | "devnet", args: Readonly<Record<string, Input<string>>>): docker.Image {
    return new docker.Image(
      `${role}-image`,
      {
        imageName: `${this.#args.prefix.toLowerCase()}/${role}:local`,
        skipPush: true,
        build: {
          context: this.#args.root,
          dockerfile: `${this.#args.root}/infra/images/${role}.Dockerfile`,
          builderVersion: this.#args.builder,
          platform: "linux/amd64",
          args: { ...args, VERSION: version },
        },
      },
      { parent: this },
    );
  }

  #pulled(role: string, name: string): Input<string> {
    return new docker.RemoteImage(`${role}-image`, { name, keepLocally: true }, { parent: this }).imageId;
  }
}
