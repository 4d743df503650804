import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { installImageDependencies } from "#infra/docker/image-dependencies.ts";
import { uniqueName } from "../support/engine/container.ts";
import { docker } from "../support/engine/docker.ts";

/** The images that the tests of a Docker engine share, by reference. */
export type TestImages = Readonly<{
  /** A base with Node and the libraries that it needs, and nothing else: no shell. */
  bareBase: string;
  /** Gatehouse on that base. */
  gatehouse: string;
  /** The devnet node; its `node_cli` is a script, so its base has a shell. */
  devnet: string;
}>;

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const buildDeadlineMs = 600_000;

/**
 * Builds the images with the classic builder and without a network. Disposing of them removes them.
 *
 * @param nodeImage a Debian image with Node.
 */
export async function buildTestImages(nodeImage: string): Promise<TestImages & AsyncDisposable> {
  const name = uniqueName("image");
  const images: TestImages = { bareBase: `${name}:bare`, gatehouse: `${name}:gatehouse`, devnet: `${name}:devnet` };
  const onFullBase = `${name}:gatehouse-full`;
  const remove = async () => {
    const built = await docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "--filter", `reference=${name}`);
    if (built !== "") await docker("image", "rm", "--force", ...built.split("\n"));
  };
  try {
    installImageDependencies(root);
    await build(images.bareBase, "test/infra/bare.Dockerfile", { FULL_IMAGE: nodeImage });
    await build(images.gatehouse, "infra/images/gatehouse.Dockerfile", { BASE_IMAGE: images.bareBase });
    await build(onFullBase, "infra/images/gatehouse.Dockerfile", { BASE_IMAGE: nodeImage });
    await build(images.devnet, "infra/images/devnet.Dockerfile", { GATEHOUSE_IMAGE: onFullBase });
  } catch (error) {
    await remove();
    throw error;
  }
  return { ...images, [Symbol.asyncDispose]: remove };
}

async function build(tag: string, dockerfile: string, args: Readonly<Record<string, string>>): Promise<void> {
  const buildArgs = Object.entries(args).flatMap(([key, value]) => ["--build-arg", `${key}=${value}`]);
  const where = ["--tag", tag, "--file", join(root, dockerfile), root];
  await run("docker", ["build", "--quiet", "--network", "none", ...buildArgs, ...where], {
    timeout: buildDeadlineMs,
    env: { ...process.env, DOCKER_BUILDKIT: "0" },
  });
}
