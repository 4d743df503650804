import { tokenAddress } from "#devnet/token/address.ts";
import { freeHostPorts } from "../infra/host-ports.ts";
import { buildTestImages, removeTestImages, type TestImages } from "../infra/test-images.ts";
import { startTestStack } from "../infra/test-stack.ts";
import { createUniqueName } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine } from "../support/engine/find-engine.ts";
import { findPulumi } from "../support/pulumi/find-pulumi.ts";
import { createPulumiStack } from "../support/pulumi/pulumi-stack.ts";
import { removeStack } from "../support/pulumi/remove-stack.ts";

/** One row of output: what was measured, with its unit in the name. */
type Row = Readonly<Record<string, string | number>>;

const megabyte = 1_000_000;

process.stdout.write("\nDeployment on a Docker engine\n");
for (const row of await deploymentRows()) {
  const cells = Object.entries(row).map(([key, value]) => `${key}: ${value}`);
  process.stdout.write(`  ${cells.join(", ")}\n`);
}

/**
 * Measures the deployment on a Docker engine where one is found: the images' sizes (target: Gatehouse less than 200 MB over its
 * base), the time from each container's start to its first successful health check (target: 3 s), and with Pulumi's command line the
 * preview (target: 10 s) and `up` on a warm host until all is healthy (target: 60 s).
 */
async function deploymentRows(): Promise<readonly Row[]> {
  const engine = await findEngine();
  if (!engine.ok) return [{ "not measured": engine.message }];
  const name = createUniqueName("image");
  try {
    const images = await buildTestImages(name, engine.nodeImage);
    const sizes = await sizeRows(images);
    const health = await healthRows(engine.url, images);
    return [...sizes, ...health, ...(await pulumiRows(engine.url, engine.nodeImage))];
  } finally {
    await removeTestImages(name);
  }
}

async function sizeRows(images: TestImages): Promise<readonly Row[]> {
  const [base, gatehouse] = [await bytesOf(images.bareBase), await bytesOf(images.gatehouse)];
  return [
    {
      what: "Gatehouse image",
      MB: Math.round(gatehouse / megabyte),
      "MB over its base": Math.round((gatehouse - base) / megabyte),
      target: 200,
    },
  ];
}

async function bytesOf(image: string): Promise<number> {
  return Number(await runDocker("image", "inspect", "--format", "{{.Size}}", image));
}

async function healthRows(url: string, images: TestImages): Promise<readonly Row[]> {
  await using stack = await startTestStack(url, images);
  return [...stack.healthyAfterSeconds].map(([container, seconds]) => ({
    what: `${container.slice(stack.prefix.length + 1)} healthy after its start`,
    s: Math.round(seconds * 10) / 10,
    target: 3,
  }));
}

/** The second `up` is measured: images are built and their layers are in the engine's cache. */
async function pulumiRows(dockerEngine: string, baseImage: string): Promise<readonly Row[]> {
  const pulumi = await findPulumi("docker");
  if (!pulumi.ok) return [{ "not measured": pulumi.message }];
  await using stack = await createPulumiStack(createUniqueName("bench").replace("gatehouse-test-", ""));
  const ports = await freeHostPorts();
  const own = { target: "docker", dockerEngine, baseImage, devAccounts: true, tokenAddress, protectData: false };
  await stack.configure({ ...own, ...ports });
  const seconds = async (...args: readonly string[]) => {
    const result = await stack.run(...args);
    if (result.status !== 0) throw new Error(result.output);
    return result.seconds;
  };
  try {
    const preview = await seconds("preview");
    const cold = await seconds("up", "--yes", "--skip-preview");
    await seconds("destroy", "--yes", "--skip-preview");
    const warm = await seconds("up", "--yes", "--skip-preview");
    await seconds("destroy", "--yes", "--skip-preview");
    return [
      { what: "preview of the whole stack", s: preview, target: 10 },
      { what: "up, images built", s: cold },
      { what: "up on a warm host until all is healthy", s: warm, target: 60 },
    ];
  } finally {
    await removeStack(stack.prefix);
  }
}
