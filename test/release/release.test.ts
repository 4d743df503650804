import { spawnSync } from "node:child_process";
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import packageJson from "../../package.json" with { type: "json" };
import { root } from "../style/rooms.ts";

const path = join(root, ".github/workflows/release.yml");
const text = readFileSync(path, "utf8");
const job = z.looseObject({
  "timeout-minutes": z.number(),
  permissions: z.record(z.string(), z.string()),
  steps: z.array(z.looseObject({ run: z.string().optional(), uses: z.string().optional() })),
});
const workflow = z.looseObject({ permissions: z.unknown(), jobs: z.record(z.string(), job) }).parse(parse(text));
const hasActionlint = spawnSync("actionlint", ["--version"]).error === undefined;
const directory = mkdtempSync(join(tmpdir(), "gatehouse-release-"));
afterAll(() => rmSync(directory, { recursive: true }));

const run = (program: string, args: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: "utf8", timeout: 60_000 });
  return { status, stdout, stderr };
};

describe("the release workflow", () => {
  it.skipIf(!hasActionlint)(
    `passes actionlint${hasActionlint ? "" : " (skipped: go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12)"}`,
    () => {
      expect(run("actionlint", [path])).toEqual({ status: 0, stdout: "", stderr: "" });
    },
  );

  it("gives each job what it needs by name, and none both the rights to publish and the code of the tests", () => {
    expect(workflow.permissions).toEqual({});
    const rights = Object.entries(workflow.jobs).map(([name, { permissions }]) => [name, permissions]);
    expect(Object.fromEntries(rights)).toEqual({
      check: { contents: "read" },
      artifacts: { contents: "read" },
      package: { contents: "read", "id-token": "write" },
      images: { contents: "read", packages: "write" },
      release: { contents: "write" },
    });
    expect(text).not.toContain("secrets.");
    expect(workflow.jobs["package"]?.steps.filter(({ uses }) => uses?.startsWith("actions/checkout@"))).toEqual([]);
  });

  it("pins every action to a full commit, and ends each job in time", () => {
    const used = [...text.matchAll(/uses: (.*)/g)].map(([, action]) => action);
    expect(used.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action ?? ""))).toEqual([]);
    expect(Object.values(workflow.jobs).filter((found) => found["timeout-minutes"] > 60)).toEqual([]);
  });

  it("runs scripts that are there", () => {
    const scripts = [...text.matchAll(/run: (\.ci\/\S+)/g)].map(([, script = ""]) => script);
    expect(new Set(scripts)).toEqual(new Set([".ci/release"]));
    for (const script of scripts) accessSync(join(root, script), constants.X_OK);
    for (const [, name = ""] of text.matchAll(/npm run ([\w:]+)/g)) expect(packageJson.scripts).toHaveProperty(name);
  });
});

describe(".ci/release", () => {
  it("takes a tag only where package.json and the changelog have its version", () => {
    expect(run(".ci/release", ["check", "v99.0.0"])).toMatchObject({
      status: 1,
      stderr: `release: v99.0.0 is not the version of package.json, ${packageJson.version}\n`,
    });
    expect(run(".ci/release", ["check", packageJson.version]).stderr).toContain("it begins with v");
    expect(run(".ci/release", ["images"])).toMatchObject({ status: 1 });
  });

  it("tells what the changelog says of one version and no other", () => {
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
