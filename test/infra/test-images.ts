import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { findImageArchitecture } from "#infra/images/image-architecture.ts";
import { installImageDependencies } from "#infra/images/image-dependencies.ts";
import { runDocker } from "../support/engine/docker.ts";

/** The images that the tests of a Docker engine share, by reference. */
export type TestImages = Readonly<{
  /** A base with Node and the libraries that it needs, and nothing else: no shell. */
  bareBase: string;
  /** Gatehouse on that base. */
  gatehouse: string;
  /** The devnet node; its `node_cli` is a script, so its base has a shell. */
  devnet: string;
  /** A Pushgateway, Debian's, laid out as the official image is. */
  pushgateway: string;
}>;

/** The user of a real node's image, whom {@link TestImages.gatehouse} is built for too. */
export const testNodeUser = 1_000;

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const buildDeadlineMs = 600_000;

/** What the images of that name are called. */
export function testImages(name: string): TestImages {
  return {
    bareBase: `${name}:bare`,
    gatehouse: `${name}:gatehouse`,
    devnet: `${name}:devnet`,
    pushgateway: `${name}:pushgateway`,
  };
}

/**
 * Builds the images of that name with the classic builder, unless they are there; the product's own without a network.
 *
 * @param nodeImage a Debian image with Node.
 */
export async function buildTestImages(name: string, nodeImage: string): Promise<TestImages> {
  const images = testImages(name);
  const built = await builtImages(name);
  if (Object.values(images).every((image) => built.includes(image))) return images;
  const onFullBase = `${name}:gatehouse-full`;
  await buildGatehouseImage(name, nodeImage);
  await build(onFullBase, "infra/images/gatehouse.Dockerfile", { BASE_IMAGE: nodeImage });
  await build(images.devnet, "infra/images/devnet.Dockerfile", { GATEHOUSE_IMAGE: onFullBase });
  await buildPushgatewayImage(name, nodeImage);
  return images;
}

/**
 * Builds the image of Gatehouse alone, on a base without a shell, unless it is there.
 *
 * @param nodeImage a Debian image with Node.
 */
export async function buildGatehouseImage(name: string, nodeImage: string): Promise<string> {
  const { bareBase, gatehouse } = testImages(name);
  if ((await builtImages(name)).includes(gatehouse)) return gatehouse;
  const architecture = findImageArchitecture(await runDocker("version", "--format", "{{.Server.Arch}}"));
  if (architecture === undefined) throw new Error("the engine runs on a processor that no image is built for");
  installImageDependencies(root, { images: ["gatehouse", "devnet"], architecture });
  await build(bareBase, "test/infra/bare.Dockerfile", { FULL_IMAGE: nodeImage });
  const nodeUser = { NODE_USER: String(testNodeUser) };
  await build(gatehouse, "infra/images/gatehouse.Dockerfile", { BASE_IMAGE: bareBase, ...nodeUser });
  return gatehouse;
}

/**
 * Builds an image with a Pushgateway in it, unless it is there. Debian's packages are downloaded.
 *
 * @param nodeImage a Debian image.
 */
export async function buildPushgatewayImage(name: string, nodeImage: string): Promise<string> {
  const tag = testImages(name).pushgateway;
  if ((await builtImages(name)).includes(tag)) return tag;
  const place = { network: "host", context: join(import.meta.dirname, "pushgateway-image") } as const;
  await build(tag, "test/infra/pushgateway-image/Dockerfile", { NODE_IMAGE: nodeImage }, place);
  return tag;
}

/**
 * Builds an image with a PostgreSQL server in it, unless it is there. Debian's packages are downloaded.
 *
 * @param nodeImage a Debian image.
 */
export async function buildPostgresImage(name: string, nodeImage: string): Promise<string> {
  const tag = `${name}:postgres`;
  if ((await builtImages(name)).includes(tag)) return tag;
  const place = { network: "host", context: join(import.meta.dirname, "postgres-image") } as const;
  await build(tag, "test/infra/postgres-image/Dockerfile", { NODE_IMAGE: nodeImage }, place);
  return tag;
}

/**
 * Builds an image of a real node of a version, unless it is there; its user is {@link testNodeUser}.
 *
 * @param nodeImage a Debian image with Node.
 */
export async function buildNodeImage(name: string, nodeImage: string, version: string): Promise<string> {
  const tag = `${name}:node-${version}`;
  if ((await builtImages(name)).includes(tag)) return tag;
  const place = { network: "none", context: join(import.meta.dirname, "node-image") } as const;
  await build(tag, "test/infra/node-image/Dockerfile", { NODE_IMAGE: nodeImage, VERSION: version }, place);
  return tag;
}

/** What a version of the node with a chain does, as its serve.mjs says. */
export type ChainNodeBehaviour = "good" | "silent" | "corrupts" | "secretive";

/**
 * Builds an image of a version of a node that keeps a chain, unless it is there; its user is {@link testNodeUser}.
 *
 * @param nodeImage a Debian image with Node.
 */
export async function buildChainNodeImage(
  name: string,
  nodeImage: string,
  { version, behaviour }: Readonly<{ version: string; behaviour: ChainNodeBehaviour }>,
): Promise<string> {
  const tag = `${name}:chain-${version}`;
  if ((await builtImages(name)).includes(tag)) return tag;
  const place = { network: "none", context: join(import.meta.dirname, "chain-node-image") } as const;
  const args = { NODE_IMAGE: nodeImage, VERSION: version, BEHAVIOUR: behaviour };
  await build(tag, "test/infra/chain-node-image/Dockerfile", args, place);
  return tag;
}

/** Removes the images of that name, however far it came. */
export async function removeTestImages(name: string): Promise<void> {
  const built = await builtImages(name);
  if (built.length > 0) await runDocker("image", "rm", "--force", ...built);
}

async function builtImages(name: string): Promise<readonly string[]> {
  const listed = await runDocker(
    "image",
    "ls",
    "--format",
    "{{.Repository}}:{{.Tag}}",
    "--filter",
    `reference=${name}`,
  );
  return listed.split("\n").filter((line) => line !== "");
}

type BuildPlace = Readonly<{ network: "none" | "host"; context: string }>;

async function build(
  tag: string,
  dockerfile: string,
  args: Readonly<Record<string, string>>,
  { network, context }: BuildPlace = { network: "none", context: root },
): Promise<void> {
  const buildArgs = Object.entries(args).flatMap(([key, value]) => ["--build-arg", `${key}=${value}`]);
  const where = ["--tag", tag, "--file", join(root, dockerfile), context];
  await run("docker", ["build", "--quiet", "--network", network, ...buildArgs, ...where], {
    timeout: buildDeadlineMs,
    env: { ...process.env, DOCKER_BUILDKIT: "0" },
  });
}
