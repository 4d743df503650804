import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { writePrograms, writeScript } from "#sidecar/testing/fake-node-files.ts";
import { pharosEntryPoint, pharosForks, pharosOps } from "#sidecar/testing/fake-pharos-programs.ts";
import { createUniqueName } from "./container.ts";
import { runDocker } from "./docker.ts";

/** The workspace is a bind mount on `/data`, to which the image's programs are copied at each start. */
const dockerfile = (nodeImage: string) => `FROM ${nodeImage}
COPY app /app
WORKDIR /data
CMD ["/app/entry-point"]
`;

/**
 * Builds an image of a fake public-family node with a version's programs; disposing of it removes it.
 *
 * @param nodeImage a Debian image with Node.
 */
export async function buildPharosImage(nodeImage: string, version: string) {
  const image = createUniqueName("pharos");
  const context = await mkdtemp(join(tmpdir(), "gatehouse-pharos-"));
  const app = join(context, "app");
  try {
    await mkdir(join(app, "bin"), { recursive: true });
    await writePrograms(join(app, "bin"), "pharos", (program) =>
      program.replaceAll("../version", "./release-version").replaceAll(process.execPath, "node"),
    );
    await writeFile(join(app, "bin", "release-version"), version);
    await writeFile(join(app, "bin", "VERSION"), pharosForks);
    await writeScript(join(app, "ops"), pharosOps, "/bin/sh");
    await writeScript(join(app, "entry-point"), pharosEntryPoint, "/bin/bash");
    await writeFile(join(context, "Dockerfile"), dockerfile(nodeImage));
    await promisify(execFile)("docker", ["build", "--quiet", "--tag", image, context], {
      timeout: 300_000,
      env: { ...process.env, DOCKER_BUILDKIT: "0" },
    });
  } finally {
    await rm(context, { recursive: true, force: true });
  }
  return { image, [Symbol.asyncDispose]: async () => void (await runDocker("rmi", "--force", image)) };
}
