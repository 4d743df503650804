import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import packageJson from "../../package.json" with { type: "json" };
import { sizedTests } from "../../vitest.config.ts";
import { root } from "../style/rooms.ts";

const schema = z.looseObject({
  on: z.looseObject({ schedule: z.array(z.looseObject({ cron: z.string() })).optional() }),
  permissions: z.unknown(),
  jobs: z.record(z.string(), z.looseObject({ permissions: z.unknown(), "timeout-minutes": z.number() })),
});
const locate = (name: string) => join(root, ".github/workflows", `${name}.yml`);

function readWorkflow(name: string) {
  const text = readFileSync(locate(name), "utf8");
  const uses = [...text.matchAll(/uses: (.*)/g)].map(([, action]) => action);
  return { ...schema.parse(parse(text)), text, uses };
}

const [ci, nightly] = [readWorkflow("ci"), readWorkflow("nightly")];
const hasActionlint = spawnSync("actionlint", ["--version"]).error === undefined;
const skipped = hasActionlint ? "" : " (skipped: go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12)";

/** GitHub's max minutes for a job on a hosted runner. */
const jobMinutesMax = 360;

it.skipIf(!hasActionlint).each(["ci", "nightly", "release"])(`the workflow %s passes actionlint${skipped}`, (name) => {
  const { status, stdout, stderr } = spawnSync("actionlint", [locate(name)], { cwd: root, encoding: "utf8" });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
});

it.each([
  ["ci", ci],
  ["nightly", nightly],
])("the workflow %s has read-only permissions and only pinned actions of the release workflow", (_, workflow) => {
  expect(workflow.permissions).toEqual({});
  expect(workflow.text).not.toContain("secrets.");
  const { uses: pinned } = readWorkflow("release");
  expect(workflow.uses.filter((action) => !pinned.includes(action))).toEqual([]);
  for (const job of Object.values(workflow.jobs)) {
    expect(job.permissions).toEqual({ contents: "read" });
    expect(job["timeout-minutes"]).toBeLessThan(jobMinutesMax);
  }
});

it("the CI workflow runs .ci/run on each push and pull request, within the job's timeout", () => {
  expect(Object.keys(ci.on)).toEqual(["push", "pull_request"]);
  expect(ci.text).toMatch(/ \.ci\/run$/m);
  const minutes = Number(/^limit_minutes=(\d+)$/m.exec(readFileSync(join(root, ".ci/run"), "utf8"))?.[1]);
  for (const job of Object.values(ci.jobs)) expect(job["timeout-minutes"]).toBeGreaterThan(minutes);
});

describe("the nightly workflow", () => {
  it("runs exactly the long tests and the attacks once a night", () => {
    expect(nightly.on.schedule?.map(({ cron }) => cron)).toEqual([expect.stringMatching(/^\d+ \d+ \* \* \*$/)]);
    const scripts = [...nightly.text.matchAll(/npm run ([\w:]+)/g)].map(([, script]) => script);
    expect(scripts).toEqual(["test:long", "test:attack"]);
    expect(packageJson.scripts["test:long"]).toBe("vitest run --project=long*");
  });

  it("runs in full every test that npm test shortens", () => {
    const sized = globSync("**/*.test.ts", { cwd: root, exclude: ["node_modules/**", "**/*.long.test.ts"] }).filter(
      (file) => /\/support\/(?:run-size|status-page)\.ts"/.test(readFileSync(join(root, file), "utf8")),
    );
    expect(sized.length).toBeGreaterThan(10);
    expect(sized.filter((file) => !sizedTests.some((pattern) => matchesGlob(file, pattern)))).toEqual([]);
  });
});
