import { accessSync, constants, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { parseConfig } from "#infra/stack-config.ts";
import { readStackFile, signerPrivateKey } from "#infra/testing/stack-configs.ts";
import { findJob, jobs, template, workflows } from "./workflow.ts";

const stacks = globSync("stacks/Pulumi.*.yaml", { cwd: template }).toSorted();
const environments = stacks.map((path) => basename(path).split(".")[1]);

describe("the workflows of examples/gitops", () => {
  it.each(workflows)("$name grants no default permissions", ({ permissions }) => {
    expect(permissions).toEqual({});
  });

  it.each(jobs)("$workflow $name requests permissions explicitly and has a timeout", ({ job }) => {
    expect(job.permissions).toMatchObject({ contents: "read" });
    expect(job["timeout-minutes"]).toBeLessThanOrEqual(60);
  });

  it("grants write access per job, and none to a pull request's code", () => {
    const writing = jobs.flatMap(({ workflow, name, job }) =>
      Object.entries(job.permissions ?? {})
        .filter(([, level]) => level === "write")
        .map(([scope]) => `${workflow} ${name} ${scope}`),
    );
    expect(writing).toEqual([
      "pull-request.yml preview id-token",
      "pull-request.yml comment pull-requests",
      "deploy.yml dev id-token",
      "deploy.yml staging id-token",
      "deploy.yml production id-token",
      "drift.yml look id-token",
      "drift.yml report issues",
    ]);
    const [checkout] = findJob("pull-request.yml", "comment").steps;
    expect(checkout?.["with"]).toMatchObject({ ref: "${{ github.event.pull_request.base.sha }}" });
  });

  it("gives a fork's pull request no credentials", () => {
    const sameRepository = "github.event.pull_request.head.repo.full_name == github.repository";
    expect(findJob("pull-request.yml", "preview")["if"]).toBe(sameRepository);
  });

  it("pins every action to one commit with its version in a comment", () => {
    const used = workflows.flatMap(({ text }) => [...text.matchAll(/uses: (.*)/g)].map(([, action = ""]) => action));
    expect(used.length).toBeGreaterThan(10);
    expect(used.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
    const versions = new Set(used);
    expect(new Set([...versions].map((action) => action.split("@")[0])).size).toBe(versions.size);
  });

  it("installs the Pulumi version of the SDK", () => {
    const versions = workflows.flatMap(({ text }) => [...text.matchAll(/pulumi-version: "(.*)"/g)].map(([, v]) => v));
    expect(new Set(versions)).toEqual(new Set([packageJson.devDependencies["@pulumi/pulumi"]]));
  });

  it("persists no checkout token on disk", () => {
    const checkouts = jobs.flatMap(({ job }) => job.steps).filter(({ uses }) => uses?.startsWith("actions/checkout@"));
    expect(checkouts.map((found) => found["with"])).toEqual(
      checkouts.map(() => expect.objectContaining({ "persist-credentials": false }) as unknown),
    );
  });

  it("runs only existing scripts, without interpolated event data or secrets", () => {
    const commands = jobs.flatMap(({ job }) => job.steps).flatMap(({ run }) => (run === undefined ? [] : [run]));
    for (const command of commands) {
      const [script = ""] = command.split(" ");
      expect(script).toMatch(/^scripts\/[a-z-]+\.sh$/);
      accessSync(join(template, script), constants.X_OK);
    }
    expect(commands.filter((command) => command.includes("${{"))).toEqual([]);
    expect(workflows.filter(({ text }) => text.includes("secrets."))).toEqual([]);
  });

  it("updates environments in order, each behind its gate, without cancelling an update", () => {
    const deploy = ["dev", "staging", "production"].map((name) => findJob("deploy.yml", name));
    expect(deploy.map(({ needs }) => needs)).toEqual([undefined, "dev", "staging"]);
    expect(deploy.map(({ environment }) => environment)).toEqual(["dev", "staging", "production"]);
    expect(deploy.map(({ concurrency }) => concurrency)).toEqual(
      ["dev", "staging", "production"].map((name) => ({ group: `deploy-${name}`, "cancel-in-progress": false })),
    );
  });

  it("deploys only from main, even if another branch is dispatched manually", () => {
    const conditions = ["dev", "staging", "production"].map((name) => findJob("deploy.yml", name)["if"]);
    expect(new Set(conditions)).toEqual(new Set(["github.ref == 'refs/heads/main'"]));
  });

  it("checks for drift without approval, with separate credentials", () => {
    expect(findJob("drift.yml", "look").environment).toBe("drift");
    const readme = readFileSync(join(template, "README.md"), "utf8");
    expect(readme).toMatch(/give `drift` none, or each nightly check waits/);
    expect(readme).toContain("…:environment:drift` may only read");
  });

  it("uses per-environment variables for matrix jobs", () => {
    const shared = new Set(["PULUMI_ORGANIZATION", "GATEHOUSE_RUNNER", "NODE_CONF_COMMAND"]);
    const inMatrix = jobs.filter(({ job }) => job["strategy"] !== undefined);
    const named = inMatrix.flatMap(({ job }) =>
      [...JSON.stringify(job).matchAll(/vars\.(\w+)/g)].map(([, name = ""]) => name),
    );
    expect(inMatrix.length).toBeGreaterThan(2);
    expect(named.filter((name) => !shared.has(name))).toEqual([]);
  });

  it("checks every environment that has a stack", () => {
    expect(environments.toSorted()).toEqual(["dev", "production", "staging"]);
    const looks = [findJob("pull-request.yml", "preview"), findJob("drift.yml", "look")];
    for (const { strategy } of looks) {
      expect(strategy).toMatchObject({ matrix: { environment: ["dev", "staging", "production"] } });
    }
  });
});

describe("the stacks of examples/gitops", () => {
  it.each(stacks)("%s is deployable once its secrets are set", (path) => {
    const secrets = path.includes("dev") ? {} : { signerPrivateKey };
    expect(parseConfig({ ...readStackFile(join(template, path)), ...secrets }).target).toBe("kubernetes");
    expect(parse(readFileSync(join(template, path), "utf8"))).toHaveProperty("environment", [
      `gatehouse/${basename(path).split(".")[1]}`,
    ]);
  });

  it("differ between staging and production only as docs/gitops.md documents", () => {
    const [production = {}, staging = {}] = ["production", "staging"].map((name) => {
      return readStackFile(join(template, `stacks/Pulumi.${name}.yaml`));
    });
    expect(Object.keys(staging)).toEqual(Object.keys(production));
    const different = Object.keys(production).filter((key) => production[key] !== staging[key]);
    const page = readFileSync(join(template, "../../docs/gitops.md"), "utf8");
    const named = /differ only in what is specific to the environment: (.*?)\. Change/s.exec(page)?.[1] ?? "";
    expect(different).toEqual([...named.matchAll(/`(\w+)`/g)].map(([, key]) => key));
  });

  it("contain no secret", () => {
    for (const path of stacks) expect(readFileSync(join(template, path), "utf8")).not.toMatch(/secure:|PrivateKey: /);
  });
});
