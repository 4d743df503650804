import { execFileSync, spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { template } from "./workflow.ts";

const found = (program: string) => spawnSync(program, ["--version"]).error === undefined;
const linters = {
  actionlint: "go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12",
  shellcheck: "apt-get install shellcheck",
};
const without = (program: keyof typeof linters) =>
  found(program) ? "" : ` (skipped: no ${program} on PATH; ${linters[program]})`;

/** Returns a linter's findings in the template's files; undefined if there are none. */
function runLinter(program: string, files: readonly string[]): string | undefined {
  const { status, stdout, stderr } = spawnSync(program, files, { cwd: template, encoding: "utf8" });
  return status === 0 ? undefined : stdout + stderr;
}

describe("examples/gitops", () => {
  const scripts = globSync("scripts/*.sh", { cwd: template });

  it.skipIf(!found("actionlint"))(`has workflows that pass actionlint${without("actionlint")}`, () => {
    expect(runLinter("actionlint", globSync(join(template, ".github/workflows/*.yml")))).toBeUndefined();
  });

  it.skipIf(!found("shellcheck"))(`has scripts that pass shellcheck${without("shellcheck")}`, () => {
    expect(runLinter("shellcheck", scripts)).toBeUndefined();
  });

  it("has scripts with valid bash syntax", () => {
    expect(scripts.length).toBeGreaterThan(8);
    for (const script of scripts) execFileSync("bash", ["-n", script], { cwd: template });
  });
});
