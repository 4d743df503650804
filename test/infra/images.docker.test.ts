import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { startContainer, createUniqueName } from "../support/engine/container.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { buildTestImages, nameTestImages, testNodeUser } from "./test-images.ts";

const run = promisify(execFile);
const found = await findEngine();
const imagesName = inject("testImagesName");
const { bareBase, gatehouse, devnet } = nameTestImages(imagesName);
const megabyte = 1_000_000;
const confined = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true", "--network", "none"];

const sizeOf = async (image: string) => Number(await runDocker("image", "inspect", "--format", "{{.Size}}", image));
const configOf = async (image: string) =>
  JSON.parse(await runDocker("image", "inspect", "--format", "{{json .Config}}", image)) as {
    User: string;
    Entrypoint: string[];
    Env: string[];
    Labels: Record<string, string>;
  };

/** Runs the health check in its own container. */
const check = (...args: readonly string[]) =>
  runDocker(
    "run",
    "--rm",
    ...confined,
    "--entrypoint",
    "node",
    gatehouse,
    "/app/infra/images/health-check.mjs",
    ...args,
  );

/** Lists an image's files as `tar --list --verbose` shows them: owner and path. */
async function filesOf(image: string): Promise<readonly Readonly<{ owner: string; path: string }>[]> {
  const container = createUniqueName("export");
  await runDocker("create", "--name", container, image);
  try {
    const list = `docker export ${container} | tar --list --verbose --numeric-owner`;
    const { stdout } = await run("sh", ["-c", list], { maxBuffer: 64 * megabyte });
    return stdout
      .trim()
      .split("\n")
      .map((line) => line.split(/\s+/))
      .map(([, owner = "", , , , path = ""]) => ({ owner, path }));
  } finally {
    await runDocker("rm", container);
  }
}

describe.skipIf(!found.ok)(`the images${skipReason(found)}`, () => {
  beforeAll(async () => {
    if (found.ok) await buildTestImages(imagesName, found.nodeImage);
  }, 900_000);

  test("add less than 200 MB to their base image", async () => {
    const [base, own, node] = await Promise.all([bareBase, gatehouse, devnet].map(sizeOf));
    const sizes = { base, gatehouse: own, devnet: node };
    const shown = Object.entries(sizes).map(([name, size = 0]) => `${name} ${(size / megabyte).toFixed(1)} MB`);
    process.stdout.write(`image sizes: ${shown.join(", ")}\n`);
    expect((own ?? 0) - (base ?? 0)).toBeLessThan(200 * megabyte);
  });

  test("run as a non-root user without a shell, with standard labels", async () => {
    for (const image of [gatehouse, devnet]) {
      const config = await configOf(image);
      expect(config.User).toBe("10001:10001");
      expect(config.Entrypoint).toEqual(["node", "/app/cli/gatehouse.js"]);
      expect(config.Labels).toMatchObject({
        "org.opencontainers.image.title": expect.stringMatching(/^gatehouse/),
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.version": expect.stringMatching(/^\d+\.\d+\.\d+$/),
        "org.opencontainers.image.base.name": expect.stringContaining("gatehouse-test-image"),
      });
    }
  });

  test("contain the application and its dependencies, but no tests, tools, keys or registry settings", async () => {
    const paths = (await filesOf(gatehouse)).map(({ path }) => path);
    const unwanted =
      /\.test\.ts$|^app\/(?!node_modules).*\/testing\/|\.npmrc$|\.npm\/|package-lock\.json$|\.env|\.git(ignore|\/)|\.(pem|key)$|^app\/test\/|^app\/policies\/|^app\/docs\/(?!$|runbooks\/($|[\w-]+\.md$))|node_modules\/(typescript|vitest|@pulumi|solc|node)\//;
    expect(paths.filter((path) => unwanted.test(path))).toEqual([]);
    expect(paths).toEqual(expect.arrayContaining(["app/cli/gatehouse.js", "app/docs/runbooks/node-down.md"]));
    expect(paths.filter((path) => /(^|\/)(sh|bash|dash|busybox|npm)$/.test(path))).toEqual([]);
  });

  test("give the service's user only its data directories, not the application", async () => {
    const owned = (await filesOf(gatehouse)).filter(({ owner }) => owner !== "0/0").map(({ path }) => path);
    const made = owned.filter((path) => !path.startsWith("var/lib/gatehouse/compile-cache/"));
    expect(made.toSorted()).toEqual([
      "data/",
      "run/gatehouse/",
      "run/gatehouse/bin/",
      "run/gatehouse/engine/",
      "run/gatehouse/files/",
      "run/gatehouse/incoming/",
      "var/lib/gatehouse/",
    ]);
  });

  test("let the user's group write to volume roots, for a real node with another user", async () => {
    const program = `for (const path of ["/data", "/var/lib/gatehouse", "/run/gatehouse/files"]) console.log((fs.statSync(path).mode & 0o777).toString(8))`;
    for (const image of [gatehouse, devnet]) {
      const seen = await runDocker("run", "--rm", ...confined, "--entrypoint", "node", image, "--eval", program);
      expect(seen.split("\n")).toEqual(["770", "770", "770"]);
    }
  });

  test("start from a compile cache created at build time", async () => {
    const args = ["--env", "NODE_DEBUG_NATIVE=COMPILE_CACHE", gatehouse, "sidecar", "--settings", "/nowhere"];
    for (const user of ["10001:10001", `${testNodeUser}:10001`]) {
      const { stderr } = await run("docker", ["run", "--rm", ...confined, "--user", user, ...args]).catch(
        (error: unknown) => error as { stderr: string },
      );
      // The engine may lose some of thousands of simultaneous lines, but each module has two: one when it is read, and one when Node exits.
      const used = "(V8 code cache for ESM {file} was accepted|skip persisting ESM {file} because cache was the same)";
      expect(stderr, user).toMatch(new RegExp(used.replaceAll("{file}", "file:///app/sidecar/main.ts")));
    }
  });

  test("contain no registry address in any layer", async () => {
    const history = await runDocker("image", "history", "--no-trunc", "--format", "{{.CreatedBy}}", gatehouse);
    expect(history).not.toMatch(/registry|npm_config|NODE_EXTRA_CA_CERTS|token/i);
  });

  test("fail to build on a base image without Node, with a clear error", async () => {
    // The build fails before it copies anything, so it needs no other file of the clone.
    const args = ["--build-arg", "BASE_IMAGE=scratch", "--file", "infra/images/gatehouse.Dockerfile", "infra/images"];
    const said = await runDocker("build", ...args).catch((error: unknown) => JSON.stringify(error));
    expect(said).toMatch(/exec: \\*"node\\*": executable file not found/);
  });

  test("start on a base image without a shell, with a read-only root and no capabilities", async () => {
    expect(await runDocker("run", "--rm", ...confined, gatehouse, "--version")).toMatch(/^\d+\.\d+\.\d+$/);
    await using service = await startContainer({ image: gatehouse, options: confined, command: ["upstream"] });
    const ask = ["node", "/app/infra/images/health-check.mjs", "http", "http://127.0.0.1:4022/livez"];
    await until(
      "the service is healthy",
      generousMs,
      async () => (await runDocker("exec", service.name, ...ask)) === "",
    );
    const shell = await runDocker("exec", service.name, "sh", "-c", "true").catch((error: unknown) =>
      JSON.stringify(error),
    );
    expect(shell).toContain("executable file not found");
  });

  test("report a failed health check by exit status and message", async () => {
    await expect(check("http", "http://127.0.0.1:1/readyz")).rejects.toThrow(/no response from .*ECONNREFUSED/);
    await expect(check("socket", "/nowhere.sock")).rejects.toThrow(/no response from \/nowhere.sock/);
    await expect(check("constructor", "x")).rejects.toThrow(/usage: health-check.mjs/);
  });
});
