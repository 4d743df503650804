import { accessSync, constants, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { parseConfig } from "#infra/stack-config.ts";
import { findJob, jobs, template, workflows } from "./workflow.ts";

const stacks = globSync("stacks/Pulumi.*.yaml", { cwd: template }).toSorted();
const environments = stacks.map((path) => basename(path).split(".")[1]);

describe("the workflows of examples/gitops", () => {
  it.each(workflows)("$name gives no right to a job that did not request it", ({ permissions }) => {
    expect(permissions).toEqual({});
  });

  it.each(jobs)("$workflow $name requests rights by name, and ends in time", ({ job }) => {
    expect(job.permissions).toMatchObject({ contents: "read" });
    expect(job["timeout-minutes"]).toBeLessThanOrEqual(60);
  });

  it("lets one job write what it has to, and none of those run a pull request's code or hold a token for the cloud", () => {
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

  it("pins every action to a full commit, and says of which version", () => {
    const used = workflows.flatMap(({ text }) => [...text.matchAll(/uses: (.*)/g)].map(([, action = ""]) => action));
    expect(used.length).toBeGreaterThan(10);
    expect(used.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
    const versions = new Set(used);
    expect(new Set([...versions].map((action) => action.split("@")[0])).size).toBe(versions.size);
  });

  it("installs the Pulumi whose SDK the program is written with", () => {
    const versions = workflows.flatMap(({ text }) => [...text.matchAll(/pulumi-version: "(.*)"/g)].map(([, v]) => v));
    expect(new Set(versions)).toEqual(new Set([packageJson.devDependencies["@pulumi/pulumi"]]));
  });

  it("leaves no checkout's token on the disk", () => {
    const checkouts = jobs.flatMap(({ job }) => job.steps).filter(({ uses }) => uses?.startsWith("actions/checkout@"));
    expect(checkouts.map((found) => found["with"])).toEqual(
      checkouts.map(() => expect.objectContaining({ "persist-credentials": false }) as unknown),
    );
  });

  it("runs nothing but scripts that are there, and puts no text of an event or a secret into a command", () => {
    const commands = jobs.flatMap(({ job }) => job.steps).flatMap(({ run }) => (run === undefined ? [] : [run]));
    for (const command of commands) {
      const [script = ""] = command.split(" ");
      expect(script).toMatch(/^scripts\/[a-z-]+\.sh$/);
      accessSync(join(template, script), constants.X_OK);
    }
    expect(commands.filter((command) => command.includes("${{"))).toEqual([]);
    expect(workflows.filter(({ text }) => text.includes("secrets."))).toEqual([]);
  });

  it("updates one environment after the other, each behind its gate, and cancels no update", () => {
    const deploy = ["dev", "staging", "production"].map((name) => findJob("deploy.yml", name));
    expect(deploy.map(({ needs }) => needs)).toEqual([undefined, "dev", "staging"]);
    expect(deploy.map(({ environment }) => environment)).toEqual(["dev", "staging", "production"]);
    expect(deploy.map(({ concurrency }) => concurrency)).toEqual(
      ["dev", "staging", "production"].map((name) => ({ group: `deploy-${name}`, "cancel-in-progress": false })),
    );
  });

  it("updates from main alone, whatever branch is dispatched by hand", () => {
    const conditions = ["dev", "staging", "production"].map((name) => findJob("deploy.yml", name)["if"]);
    expect(new Set(conditions)).toEqual(new Set(["github.ref == 'refs/heads/main'"]));
  });

  it("looks at night without waiting for a person, with separate credentials", () => {
    expect(findJob("drift.yml", "look").environment).toBe("drift");
    const readme = readFileSync(join(template, "README.md"), "utf8");
    expect(readme).toMatch(/give `drift` none, or each night's look waits/);
    expect(readme).toContain("…:environment:drift` may only read");
  });

  it("gives each environment of a matrix what is its own, not what all of them share", () => {
    const shared = new Set(["PULUMI_ORGANIZATION", "GATEHOUSE_RUNNER", "NODE_CONF_COMMAND"]);
    const inMatrix = jobs.filter(({ job }) => job["strategy"] !== undefined);
    const named = inMatrix.flatMap(({ job }) =>
      [...JSON.stringify(job).matchAll(/vars\.(\w+)/g)].map(([, name = ""]) => name),
    );
    expect(inMatrix.length).toBeGreaterThan(2);
    expect(named.filter((name) => !shared.has(name))).toEqual([]);
  });

  it("looks at every environment that has a stack", () => {
    expect(environments.toSorted()).toEqual(["dev", "production", "staging"]);
    const looks = [findJob("pull-request.yml", "preview"), findJob("drift.yml", "look")];
    for (const { strategy } of looks) {
      expect(strategy).toMatchObject({ matrix: { environment: ["dev", "staging", "production"] } });
    }
  });
});

describe("the stacks of examples/gitops", () => {
  it.each(stacks)("%s is one that the program deploys, once its secrets are there", (path) => {
    const { config, environment } = parse(readFileSync(join(template, path), "utf8")) as {
      config: Readonly<Record<string, unknown>>;
      environment: readonly string[];
    };
    const texts = Object.entries(config).map(([key, value]) => [
      key.replace("gatehouse:", ""),
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
    const secrets = path.includes("dev") ? {} : { signerPrivateKey: `0x${"11".repeat(32)}` };
    expect(parseConfig({ ...Object.fromEntries(texts), ...secrets }).target).toBe("kubernetes");
    expect(environment).toEqual([`gatehouse/${basename(path).split(".")[1]}`]);
  });

  it("differ between staging and production only in what docs/gitops.md says", () => {
    const [production = {}, staging = {}] = ["production", "staging"].map((name) => {
      const text = readFileSync(join(template, `stacks/Pulumi.${name}.yaml`), "utf8");
      return (parse(text) as { config: Readonly<Record<string, unknown>> }).config;
    });
    expect(Object.keys(staging)).toEqual(Object.keys(production));
    const different = Object.keys(production).filter(
      (key) => JSON.stringify(production[key]) !== JSON.stringify(staging[key]),
    );
    const page = readFileSync(join(template, "../../docs/gitops.md"), "utf8");
    const named = /differ only in what belongs to the place: (.*?)\. Everything/s.exec(page)?.[1] ?? "";
    expect(different.map((key) => key.replace("gatehouse:", ""))).toEqual(
      [...named.matchAll(/`(\w+)`/g)].map(([, key]) => key),
    );
  });

  it("hold no secret", () => {
    for (const path of stacks) expect(readFileSync(join(template, path), "utf8")).not.toMatch(/secure:|PrivateKey: /);
  });
});
