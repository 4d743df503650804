import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import packageJson from "../../package.json" with { type: "json" };
import { sizedTests } from "../../vitest.config.ts";
import { root } from "../style/rooms.ts";

const folder = join(root, ".github/workflows");
const path = join(folder, "nightly.yml");
const text = readFileSync(path, "utf8");
const workflow = z
  .looseObject({
    on: z.looseObject({ schedule: z.array(z.looseObject({ cron: z.string() })) }),
    permissions: z.unknown(),
    jobs: z.record(
      z.string(),
      z.looseObject({
        "timeout-minutes": z.number(),
        permissions: z.record(z.string(), z.string()),
        steps: z.array(z.looseObject({ run: z.string().optional() })),
      }),
    ),
  })
  .parse(parse(text));
const hasActionlint = spawnSync("actionlint", ["--version"]).error === undefined;

/** GitHub's max minutes for a job on a hosted runner. */
const jobMinutesMax = 360;

const usesIn = (workflowText: string) => [...workflowText.matchAll(/uses: (.*)/g)].map(([, action]) => action);

describe("the nightly workflow", () => {
  it.skipIf(!hasActionlint)(
    `passes actionlint${hasActionlint ? "" : " (skipped: go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12)"}`,
    () => {
      const { status, stdout, stderr } = spawnSync("actionlint", [path], { cwd: root, encoding: "utf8" });
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
    },
  );

  it("runs exactly the long tests and the attacks once a night", () => {
    expect(workflow.on.schedule.map(({ cron }) => cron)).toEqual([expect.stringMatching(/^\d+ \d+ \* \* \*$/)]);
    const scripts = [...text.matchAll(/npm run ([\w:]+)/g)].map(([, script]) => script);
    expect(scripts).toEqual(["test:long", "test:attack"]);
    expect(packageJson.scripts["test:long"]).toBe("vitest run --project=long*");
  });

  it("runs every test in full that npm test shortens", () => {
    const sized = globSync("**/*.test.ts", { cwd: root, exclude: ["node_modules/**", "**/*.long.test.ts"] }).filter(
      (file) => /\/support\/(?:run-size|status-page)\.ts"/.test(readFileSync(join(root, file), "utf8")),
    );
    expect(sized.length).toBeGreaterThan(10);
    expect(sized.filter((file) => !sizedTests.some((pattern) => matchesGlob(file, pattern)))).toEqual([]);
  });

  it("has read-only permissions and only pinned actions of the release workflow", () => {
    expect(workflow.permissions).toEqual({});
    const jobs = Object.values(workflow.jobs);
    for (const job of jobs) expect(job.permissions).toEqual({ contents: "read" });
    expect(text).not.toContain("secrets.");
    const pinned = usesIn(readFileSync(join(folder, "release.yml"), "utf8"));
    expect(usesIn(text).filter((action) => !pinned.includes(action))).toEqual([]);
    expect(jobs.filter((job) => job["timeout-minutes"] >= jobMinutesMax)).toEqual([]);
  });
});
