import { execFile } from "node:child_process";
import { glob, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { findImageArchitecture, installImageDependencies } from "#infra/images/image-dependencies.ts";
import { runDocker } from "../support/engine/docker.ts";
import { runInTurn } from "../support/run-in-turn.ts";

/** Images that the Docker engine tests share, keyed by reference. */
export type TestImages = Readonly<{
  /** A base with only Node and its libraries, without a shell. */
  bareBase: string;
  /** Gatehouse on that base. */
  gatehouse: string;
  /** The devnet node; its `node_cli` is a script, so its base has a shell. */
  devnet: string;
  /** Debian's Pushgateway, laid out like the official image. */
  pushgateway: string;
}>;

/** The user of a real node's image, for which {@link TestImages.gatehouse} is built too. */
export const testNodeUser = 1_000;

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const buildDeadlineMs = 600_000;

/** Returns the references of the images with that name. */
export function nameTestImages(name: string): TestImages {
  return {
    bareBase: `${name}:bare`,
    gatehouse: `${name}:gatehouse`,
    devnet: `${name}:devnet`,
    pushgateway: `${name}:pushgateway`,
  };
}

/**
 * Builds the images with that name with the classic builder, unless they exist; Gatehouse's own image without a network.
 *
 * @param nodeImage a Debian image with Node.
 */
export async function buildTestImages(name: string, nodeImage: string): Promise<TestImages> {
  const images = nameTestImages(name);
  await Promise.all([
    buildGatehouseImage(name, nodeImage),
    buildDevnetImage(name, nodeImage),
    buildPushgatewayImage(name, nodeImage),
  ]);
  return images;
}

/**
 * Builds only Gatehouse's image, on a base without a shell, unless it exists.
 *
 * @param nodeImage a Debian image with Node.
 */
export function buildGatehouseImage(name: string, nodeImage: string): Promise<string> {
  const { bareBase, gatehouse } = nameTestImages(name);
  return buildOnce(gatehouse, async () => {
    await prepareContext(name);
    await build(bareBase, "test/infra/bare-image/Dockerfile", { FULL_IMAGE: nodeImage }, bareLocation);
    const nodeUser = { NODE_USER: String(testNodeUser) };
    await build(gatehouse, "infra/images/gatehouse.Dockerfile", { BASE_IMAGE: bareBase, ...nodeUser });
  });
}

/** Builds the devnet's image, unless it exists. It has the same base as the build.sh test, which can reuse most of its layers. */
function buildDevnetImage(name: string, nodeImage: string): Promise<string> {
  const onFullBase = `${name}:gatehouse-full`;
  const base = process.env["GATEHOUSE_TEST_BUILD_IMAGE"] ?? nodeImage;
  return buildOnce(nameTestImages(name).devnet, async () => {
    await prepareContext(name);
    await build(onFullBase, "infra/images/gatehouse.Dockerfile", { BASE_IMAGE: base });
    await build(nameTestImages(name).devnet, "infra/images/devnet.Dockerfile", { GATEHOUSE_IMAGE: onFullBase });
  });
}

/** Installs the files that the images copy into the build context, which all processes share. */
const prepareContext = (name: string) =>
  runInTurn(getTurnFile(`${name}:context`), buildDeadlineMs, async () => {
    const architecture = findImageArchitecture(await runDocker("version", "--format", "{{.Server.Arch}}"));
    if (architecture === undefined) throw new Error("the engine runs on an architecture for which no image is built");
    installImageDependencies(root, { images: ["gatehouse", "devnet"], architecture });
  });

/**
 * Builds an image with a Pushgateway, unless it exists. Debian's packages are downloaded.
 *
 * @param nodeImage a Debian image.
 */
export function buildPushgatewayImage(name: string, nodeImage: string): Promise<string> {
  const tag = nameTestImages(name).pushgateway;
  const place = { network: "host", context: join(import.meta.dirname, "pushgateway-image") } as const;
  const dockerfile = "test/infra/pushgateway-image/Dockerfile";
  return buildOnce(tag, () => build(tag, dockerfile, { NODE_IMAGE: nodeImage }, place));
}

/**
 * Builds an image with a PostgreSQL server, unless it exists. Downloads Debian's packages.
 *
 * @param nodeImage a Debian image.
 */
export function buildPostgresImage(name: string, nodeImage: string): Promise<string> {
  const tag = `${name}:postgres`;
  const place = { network: "host", context: join(import.meta.dirname, "postgres-image") } as const;
  const dockerfile = "test/infra/postgres-image/Dockerfile";
  return buildOnce(tag, () => build(tag, dockerfile, { NODE_IMAGE: nodeImage }, place));
}

/**
 * Builds an image of a real node's version, unless it exists; its user is {@link testNodeUser}.
 *
 * @param nodeImage a Debian image with Node.
 */
export function buildNodeImage(name: string, nodeImage: string, version: string): Promise<string> {
  const tag = `${name}:node-${version}`;
  const place = { network: "none", context: join(import.meta.dirname, "node-image") } as const;
  const args = { NODE_IMAGE: nodeImage, VERSION: version };
  return buildOnce(tag, () => build(tag, "test/infra/node-image/Dockerfile", args, place));
}

/**
 * Builds an image whose entry point prepares its workspace, unless it exists.
 *
 * @param nodeImage a Debian image with Node.
 */
export function buildEntryPointImage(name: string, nodeImage: string): Promise<string> {
  const tag = `${name}:entry-point`;
  const place = { network: "none", context: join(import.meta.dirname, "entry-point-image") } as const;
  return buildOnce(tag, () => build(tag, "test/infra/entry-point-image/Dockerfile", { NODE_IMAGE: nodeImage }, place));
}

/** Behaviour of a version of the node with a chain, as implemented by its serve.mjs. */
export type ChainNodeBehaviour = "good" | "silent" | "corrupts";

/**
 * Builds an image of a version of a node that keeps a chain, unless it exists; its user is {@link testNodeUser}.
 *
 * @param nodeImage a Debian image with Node.
 */
export function buildChainNodeImage(
  name: string,
  nodeImage: string,
  { version, behaviour }: Readonly<{ version: string; behaviour: ChainNodeBehaviour }>,
): Promise<string> {
  const tag = `${name}:chain-${version}`;
  const place = { network: "none", context: join(import.meta.dirname, "chain-node-image") } as const;
  const args = { NODE_IMAGE: nodeImage, VERSION: version, BEHAVIOUR: behaviour };
  return buildOnce(tag, () => build(tag, "test/infra/chain-node-image/Dockerfile", args, place));
}

/** Builds an image unless it exists or another process is building it. */
function buildOnce(tag: string, make: () => Promise<void>): Promise<string> {
  return runInTurn(getTurnFile(tag), buildDeadlineMs, async () => {
    const entryExists = await runDocker("image", "ls", "--quiet", tag);
    if (entryExists === "") await make();
    return tag;
  });
}

/** Lock file that gives one process at a time access to these images. */
const getTurnFile = (what: string) => join(tmpdir(), `${what.replace(":", "-")}.turn`);

/** Removes all built images with that name. */
export async function removeTestImages(name: string): Promise<void> {
  const built = await listBuiltImages(name);
  if (built.length > 0) await runDocker("image", "rm", "--force", ...built);
  for await (const path of glob(getTurnFile(`${name}:*`))) await rm(path);
}

async function listBuiltImages(name: string): Promise<readonly string[]> {
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

type BuildLocation = Readonly<{ network: "none" | "host"; context: string }>;

/** The build only copies from another image. */
const bareLocation: BuildLocation = { network: "none", context: join(import.meta.dirname, "bare-image") };

async function build(
  tag: string,
  dockerfile: string,
  args: Readonly<Record<string, string>>,
  { network, context }: BuildLocation = { network: "none", context: root },
): Promise<void> {
  const buildArgs = Object.entries(args).flatMap(([key, value]) => ["--build-arg", `${key}=${value}`]);
  const where = ["--tag", tag, "--file", join(root, dockerfile), context];
  await run("docker", ["build", "--quiet", "--network", network, ...buildArgs, ...where], {
    timeout: buildDeadlineMs,
    env: { ...process.env, DOCKER_BUILDKIT: "0" },
  });
}
