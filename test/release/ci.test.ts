import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { root } from "../style/rooms.ts";

const folder = join(root, ".github/workflows");
const path = join(folder, "ci.yml");
const text = readFileSync(path, "utf8");
const workflow = z
  .looseObject({
    on: z.record(z.string(), z.unknown()),
    permissions: z.unknown(),
    jobs: z.record(z.string(), z.looseObject({ permissions: z.unknown(), "timeout-minutes": z.number() })),
  })
  .parse(parse(text));
const hasActionlint = spawnSync("actionlint", ["--version"]).error === undefined;

const usesIn = (workflowText: string) => [...workflowText.matchAll(/uses: (.*)/g)].map(([, action]) => action);

describe("the CI workflow", () => {
  it.skipIf(!hasActionlint)(
    `passes actionlint${hasActionlint ? "" : " (skipped: go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12)"}`,
    () => {
      const { status, stdout, stderr } = spawnSync("actionlint", [path], { cwd: root, encoding: "utf8" });
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "", stderr: "" });
    },
  );

  it("runs .ci/run on each push and pull request, within the job's timeout", () => {
    expect(Object.keys(workflow.on)).toEqual(["push", "pull_request"]);
    expect(text).toMatch(/ \.ci\/run$/m);
    const minutes = Number(/^limit_minutes=(\d+)$/m.exec(readFileSync(join(root, ".ci/run"), "utf8"))?.[1]);
    for (const job of Object.values(workflow.jobs)) expect(job["timeout-minutes"]).toBeGreaterThan(minutes);
  });

  it("has read-only permissions and only pinned actions of the release workflow", () => {
    expect(workflow.permissions).toEqual({});
    for (const job of Object.values(workflow.jobs)) expect(job.permissions).toEqual({ contents: "read" });
    expect(text).not.toContain("secrets.");
    const pinned = usesIn(readFileSync(join(folder, "release.yml"), "utf8"));
    expect(usesIn(text).filter((action) => !pinned.includes(action))).toEqual([]);
  });
});
