import { tokenAddress } from "#devnet/token/address.ts";
import { findFreeHostPorts } from "../infra/host-ports.ts";
import { buildTestImages, removeTestImages, type TestImages } from "../infra/test-images.ts";
import { startTestStack } from "../infra/test-stack.ts";
import { createUniqueName } from "../support/engine/container.ts";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine } from "../support/engine/find-engine.ts";
import { findPulumi } from "../support/pulumi/find-pulumi.ts";
import { createPulumiStack } from "../support/pulumi/pulumi-stack.ts";
import { removeStack } from "../support/pulumi/remove-stack.ts";
import { printMeasurement, type Measurement } from "./measurement.ts";

const megabyte = 1_000_000;

/**
 * Measures the deployment on a Docker engine, if there is one: the images' sizes (target: Gatehouse less than 200 MB
 * over its base), the time from each container's start to its first successful health check (target: 3 s), and with
 * Pulumi's command line the preview (target: 10 s) and `up` on a warm host until everything is healthy (target: 60 s).
 */
export async function measureDeployment(): Promise<ReadonlyMap<string, readonly Measurement[]>> {
  process.stdout.write("\nDeployment on a Docker engine\n");
  const engine = await findEngine();
  if (!engine.ok) {
    process.stdout.write(`  not measured: ${engine.message}\n`);
    return new Map();
  }
  const measured = new Map<string, readonly Measurement[]>();
  const take = (part: string, measurements: readonly Measurement[]) => {
    for (const measurement of measurements) printMeasurement(measurement);
    if (measurements.length > 0) measured.set(`deployment: ${part}`, measurements);
  };
  const name = createUniqueName("image");
  try {
    const images = await buildTestImages(name, engine.nodeImage);
    take("images", [await measureSize(images)]);
    take("health", await measureHealth(engine.url, images));
    take("up", await measurePulumi(engine.url, engine.nodeImage));
    return measured;
  } finally {
    await removeTestImages(name);
  }
}

async function measureSize(images: TestImages): Promise<Measurement> {
  const [base, gatehouse] = [await readImageBytes(images.bareBase), await readImageBytes(images.gatehouse)];
  const overBase = Math.round((gatehouse - base) / megabyte);
  return {
    what: "Gatehouse image over its base",
    target: "< 200 MB",
    measured: `${overBase} MB (${Math.round(gatehouse / megabyte)} MB in all)`,
    isMet: overBase < 200,
  };
}

async function readImageBytes(image: string): Promise<number> {
  return Number(await runDocker("image", "inspect", "--format", "{{.Size}}", image));
}

async function measureHealth(url: string, images: TestImages): Promise<readonly Measurement[]> {
  await using stack = await startTestStack(url, images);
  return [...stack.healthyAfterSeconds].map(([container, seconds]) =>
    judgeSeconds(`${container.slice(stack.prefix.length + 1)} healthy after its start`, seconds, 3),
  );
}

function judgeSeconds(what: string, seconds: number, most: number): Measurement {
  return { what, target: `< ${most} s`, measured: `${Math.round(seconds * 10) / 10} s`, isMet: seconds < most };
}

async function measurePulumi(dockerEngine: string, baseImage: string): Promise<readonly Measurement[]> {
  const pulumi = await findPulumi("docker");
  if (!pulumi.ok) {
    process.stdout.write(`  preview and up are not measured: ${pulumi.message}\n`);
    return [];
  }
  await using stack = await createPulumiStack(createUniqueName("bench").replace("gatehouse-test-", ""));
  const ports = await findFreeHostPorts();
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
      judgeSeconds("preview of the whole stack", preview, 10),
      {
        ...judgeSeconds("up on a warm host until all is healthy", warm, 60),
        how: `the up before it, which built the images, took ${Math.round(cold)} s`,
      },
    ];
  } finally {
    await removeStack(stack.prefix);
  }
}
