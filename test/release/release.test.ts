import { spawnSync } from "node:child_process";
import { accessSync, constants, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import packageJson from "../../package.json" with { type: "json" };
import { buildPublishedManifest } from "../../package/build/published-manifest.ts";
import { root } from "../style/rooms.ts";

const path = join(root, ".github/workflows/release.yml");
const text = readFileSync(path, "utf8");
const job = z.looseObject({
  "timeout-minutes": z.number(),
  permissions: z.record(z.string(), z.string()),
  steps: z.array(z.looseObject({ run: z.string().optional(), uses: z.string().optional() })),
});
const workflow = z.looseObject({ permissions: z.unknown(), jobs: z.record(z.string(), job) }).parse(parse(text));
const directory = mkdtempSync(join(tmpdir(), "gatehouse-release-"));
afterAll(() => rmSync(directory, { recursive: true }));

const run = (program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: root,
    encoding: "utf8",
    timeout: 60_000,
    env: { ...process.env, GITHUB_REPOSITORY: undefined, ...env },
  });
  return { status, stdout, stderr };
};

/**
 * A PATH on which docker and npm record their arguments; this docker simulates an engine of one architecture, which runs its images.
 */
function standIns({ architecture }: Readonly<{ architecture: string }>) {
  const place = mkdtempSync(join(directory, "programs-"));
  const calls = join(place, "calls");
  const responses = `case "$1" in version) echo ${architecture} ;; run) echo ${packageJson.version} ;; esac`;
  for (const name of ["docker", "npm"]) {
    const program = `#!/bin/sh\necho "${name} $*" >>"${calls}"\n${name === "docker" ? responses : ""}\n`;
    writeFileSync(join(place, name), program, { mode: 0o755 });
  }
  const recorded = () => readFileSync(calls, "utf8").replace(/^docker version .*\n/gm, "");
  return { programs: `${place}:${process.env["PATH"]}`, recorded };
}

describe("the release workflow", () => {
  it("grants each job minimal permissions, and no publishing job runs test code", () => {
    expect(workflow.permissions).toEqual({});
    const rights = Object.entries(workflow.jobs).map(([name, { permissions }]) => [name, permissions]);
    expect(Object.fromEntries(rights)).toEqual({
      check: { contents: "read" },
      "executable-arm64": { contents: "read" },
      artifacts: { contents: "read" },
      package: { contents: "read", "id-token": "write" },
      images: { contents: "read", packages: "write" },
      index: { contents: "read", packages: "write" },
      release: { contents: "write" },
    });
    expect(text).not.toContain("secrets.");
    expect(workflow.jobs["package"]?.steps.filter(({ uses }) => uses?.startsWith("actions/checkout@"))).toEqual([]);
  });

  it("pins every action to a full commit, and limits each job to 60 minutes", () => {
    const used = [...text.matchAll(/uses: (.*)/g)].map(([, action]) => action);
    expect(used.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action ?? ""))).toEqual([]);
    expect(Object.values(workflow.jobs).filter((found) => found["timeout-minutes"] > 60)).toEqual([]);
  });

  it("runs no package scripts where images are pushed, and gives the token only to docker login", () => {
    const images = text.slice(text.indexOf("\n  images:"), text.indexOf("\n  index:"));
    expect([...images.matchAll(/npm ci.*/g)].map(([command]) => command)).toEqual(["npm ci --ignore-scripts"]);
    for (const name of ["images", "index"]) {
      const steps = workflow.jobs[name]?.steps ?? [];
      const holdingSteps = steps.filter(({ env }) => JSON.stringify(env ?? {}).includes("github.token"));
      expect(holdingSteps.map(({ run: command }) => command)).toEqual([expect.stringContaining("docker login")]);
      expect(workflow.jobs[name]?.["env"]).toBeUndefined();
    }
  });

  it("publishes images only after npm has accepted the package", () => {
    expect(workflow.jobs["package"]?.needs).toBe("artifacts");
    expect(workflow.jobs["images"]?.needs).toBe("package");
    expect(workflow.jobs["index"]?.needs).toBe("images");
    expect(workflow.jobs["release"]?.needs).toEqual(["package", "index"]);
  });

  it("builds images and executables for amd64 and arm64 on native runners", () => {
    expect(workflow.jobs["images"]?.["strategy"]).toEqual({ matrix: { runner: ["ubuntu-24.04", "ubuntu-24.04-arm"] } });
    expect(workflow.jobs["images"]?.["runs-on"]).toBe("${{ matrix.runner }}");
    expect(workflow.jobs["executable-arm64"]?.["runs-on"]).toBe("ubuntu-24.04-arm");
    expect(workflow.jobs["artifacts"]).toMatchObject({ "runs-on": "ubuntu-24.04", needs: "executable-arm64" });
  });

  it("runs existing scripts", () => {
    const scripts = [...text.matchAll(/run: (\.ci\/\S+)/g)].map(([, script = ""]) => script);
    expect(new Set(scripts)).toEqual(new Set([".ci/release"]));
    for (const script of scripts) accessSync(join(root, script), constants.X_OK);
    for (const [, name = ""] of text.matchAll(/npm run ([\w:]+)/g)) expect(packageJson.scripts).toHaveProperty(name);
  });
});

describe(".ci/release", () => {
  it("accepts only a tag that matches package.json and the changelog", () => {
    expect(run(".ci/release", ["check", "v99.0.0"])).toMatchObject({
      status: 1,
      stderr: `release: v99.0.0 is not the version of package.json, ${packageJson.version}\n`,
    });
    for (const tag of [packageJson.version, `v${packageJson.version}-rc.1`]) {
      expect(run(".ci/release", ["check", tag]).stderr).toContain(`${tag} is not a release tag`);
    }
    expect(run(".ci/release", ["images"])).toMatchObject({ status: 1 });
  });

  it("accepts a tag only if package.json specifies the repository", () => {
    const clone = join(directory, "clone");
    const script = join(clone, ".ci/release");
    cpSync(join(root, ".ci"), join(clone, ".ci"), { recursive: true });
    writeFileSync(join(clone, "CHANGELOG.md"), "## 1.2.3\n\n- this\n");
    const check = (repository: unknown, env: NodeJS.ProcessEnv = {}) => {
      writeFileSync(join(clone, "package.json"), JSON.stringify({ version: "1.2.3", repository }));
      return run(script, ["check", "v1.2.3"], env);
    };
    const url = "git+https://github.com/somebody/gatehouse.git";
    expect(check(undefined)).toMatchObject({ status: 1, stderr: expect.stringContaining("names no repository") });
    expect(check(undefined).stderr).toContain('put there "repository": { "type": "git", "url":');
    expect(check({ url })).toEqual({ status: 0, stdout: "", stderr: "" });
    expect(check({ url }, { GITHUB_REPOSITORY: "somebody/gatehouse" })).toMatchObject({ status: 0, stderr: "" });
    expect(check({ url }, { GITHUB_REPOSITORY: "another/fork" })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`names the repository ${url}, and this is another/fork`),
    });
  });

  it.each(["amd64", "arm64"])(
    "builds and pushes the images of an engine on %s with an architecture suffix",
    (architecture) => {
      const { programs, recorded } = standIns({ architecture });
      const images = (env: NodeJS.ProcessEnv = {}) =>
        run(".ci/release", ["images", "registry.example", packageJson.version], { PATH: programs, ...env });
      expect(images(), images().stderr).toMatchObject({ status: 0 });
      expect(recorded()).not.toContain("docker push");
      expect(images({ GATEHOUSE_RELEASE_PUSH: "yes" })).toMatchObject({ status: 0 });
      const named = ["gatehouse", "gatehouse-devnet"].map(
        (name) => `registry.example/${name}:${packageJson.version}-${architecture}`,
      );
      expect(recorded()).toContain(`npm run images:prepare -- ${architecture}`);
      for (const name of named) {
        expect(recorded()).toMatch(
          new RegExp(`^docker build --platform linux/${architecture} .* --tag ${name} \\.$`, "m"),
        );
        expect(recorded()).toMatch(new RegExp(`^docker run .* ${name} --version$`, "m"));
        expect(recorded()).toContain(`docker push ${name}`);
      }
    },
  );

  it("publishes the images for both architectures under one name", () => {
    const { programs, recorded } = standIns({ architecture: "amd64" });
    expect(run(".ci/release", ["index", "registry.example", "1.2.3"], { PATH: programs })).toMatchObject({ status: 0 });
    const created = ["gatehouse", "gatehouse-devnet"].map((name) => {
      const reference = `registry.example/${name}:1.2.3`;
      return `docker buildx imagetools create --tag ${reference} ${reference}-amd64 ${reference}-arm64\n`;
    });
    expect(recorded()).toBe(created.join(""));
  });

  it("prints only the changelog of the requested version", () => {
    const file = join(directory, "CHANGELOG.md");
    writeFileSync(
      file,
      "# Changelog\n\n## Unreleased\n\n- later\n\n## [1.2.0] - 2026-01-01\n\n### Added\n\n- this\n\n## 1.1.0\n\n- before\n",
    );
    const notes = (version: string) => run(process.execPath, [".ci/release-notes.mjs", version, file]);
    expect(notes("1.2.0")).toEqual({ status: 0, stdout: "### Added\n\n- this\n", stderr: "" });
    expect(notes("1.1.0").stdout).toBe("- before\n");
    expect(notes("1.2")).toMatchObject({ status: 1, stdout: "" });
    expect(notes("1.2").stderr).toContain('begin a section "## 1.2" there');
  });
});

it("publishes the repository, homepage, bugs and keywords of package.json", () => {
  const repository = { type: "git", url: "git+https://github.com/somebody/gatehouse.git" };
  const project = { repository, homepage: "https://gatehouse.example", bugs: { url: "b" }, keywords: ["evm"] };
  expect(buildPublishedManifest({ ...packageJson, ...project })).toMatchObject(project);
});
