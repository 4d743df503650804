import { existsSync } from "node:fs";
import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { copyPipeline, type Pipeline } from "./pipeline.ts";

let pipeline: Pipeline;

beforeEach(async () => {
  pipeline = await copyPipeline();
});

afterEach(() => pipeline[Symbol.asyncDispose]());

const onStack = (environment: string) => [
  "--cwd",
  join(pipeline.directory, "gatehouse"),
  "--stack",
  `acme/gatehouse/${environment}`,
  "--config-file",
  join(pipeline.directory, `stacks/Pulumi.${environment}.yaml`),
  "--non-interactive",
  "--color",
  "never",
];
const judged = () => [
  "--policy-pack",
  join(pipeline.directory, "gatehouse/policies"),
  "--policy-pack-config",
  join(pipeline.directory, "policies.json"),
];
const drifted = `{ "chain": { "monitor_config": { "enable_pamir_cetina": true } } }\n`;

describe("a pull request", () => {
  it("installs from the lock file, and passes without a node.conf", async () => {
    const { status, output } = await pipeline.runJob("pull-request.yml", "lint");
    expect([status, output]).toEqual([0, expect.stringContaining("Judged 0 node.conf")]);
    expect(await pipeline.calls()).toEqual([["npm", "ci", "--no-audit", "--no-fund"]]);
  });

  it("reports each finding in a node.conf at its line, for the version beside it", async () => {
    await pipeline.commit("hosts/a b/node.conf", drifted);
    await pipeline.commit("hosts/a b/node-version", "0.16.2\n");
    await pipeline.commit("hosts/c/node.conf", drifted);
    const { status, output } = await pipeline.runJob("pull-request.yml", "lint");
    expect(status).toBe(2);
    expect(output).toMatch(
      /^::error file=hosts\/a b\/node\.conf,line=1,col=34,title=gatehouse config lint%3A other-version::/m,
    );
    expect(output).not.toMatch(/^::error file=hosts\/c\/node\.conf,.*other-version/m);
  });

  it("reports where a node.conf is broken, and fails on an unreadable one", async () => {
    await pipeline.commit("broken.node.conf", `{ "chain": `);
    const broken = await pipeline.runJob("pull-request.yml", "lint");
    expect(broken.status).toBe(2);
    expect(broken.output).toMatch(
      /^::error file=broken\.node\.conf,line=1,col=\d+,title=gatehouse config lint%3A unreadable::/m,
    );
    await pipeline.commit("away/node.conf", drifted);
    await rm(join(pipeline.directory, "away/node.conf"));
    const away = await pipeline.runJob("pull-request.yml", "lint");
    expect([away.status, away.output]).toEqual([1, expect.stringContaining("./away/node.conf can't be read (ENOENT)")]);
  });

  it("runs Gatehouse's unit tests and the template's own, and fails if either fails", async () => {
    const own = join(pipeline.directory, "tests/own.sh");
    await pipeline.commit("tests/own.sh", "#!/bin/sh\nexit 3\n");
    await chmod(own, 0o755);
    const failed = await pipeline.runJob("pull-request.yml", "test");
    expect([failed.status, failed.output]).toEqual([1, expect.stringContaining("tests/own.sh ended with 3")]);
    await writeFile(own, "#!/bin/sh\nexit 0\n");
    expect((await pipeline.runJob("pull-request.yml", "test")).status).toBe(0);
    const [, unit] = await pipeline.calls();
    expect(unit).toEqual(["npx", "vitest", "run", "--project", "unit", "infra", "policies", "node"]);
    await pipeline.stand("npx", { status: 1 });
    expect((await pipeline.runJob("pull-request.yml", "test")).status).toBe(1);
  });

  it("previews with the policies, and reports the diff, replaced resources and violations", async () => {
    const output = [
      "Previewing update (staging):",
      "    ~ kubernetes:apps/v1:StatefulSet: (update)",
      "        [id=pay/node]",
      "        [urn=urn:pulumi:staging::gatehouse::kubernetes:apps/v1:StatefulSet::gatehouse-staging-pod]",
      "    ~ docker:index/network:Network: (update)",
      "        [urn=urn:pulumi:staging::gatehouse::docker:index/network:Network::gatehouse-staging-network]",
      "    +-docker:index/container:Container: (replace)",
      "        [id=4f1d]",
      "        [urn=urn:pulumi:staging::gatehouse::docker:index/container:Container::gatehouse-staging-node]",
      "    [mandatory]  [severity: high]  image-pinned  (docker:index/container:Container: x)",
      "    ~~~~ </details> @everyone",
      "::error::from a pull request",
    ].join("\n");
    await pipeline.stand("pulumi-preview", { output: `${output}\n`, status: 4 });
    const { status, output: log } = await pipeline.runJob("pull-request.yml", "preview", "staging");
    expect(status).toBe(1);
    expect((await pipeline.calls()).at(-1)).toEqual([
      "pulumi",
      "preview",
      "--diff",
      ...judged(),
      ...onStack("staging"),
    ]);
    const comment = await pipeline.report("preview-staging.md");
    expect(comment).toMatch(
      /^<!-- gatehouse-preview: staging -->\n## Preview of staging failed\n\nPulumi ended with 4\./,
    );
    expect(comment).toMatch(
      /### Replaced, deleted or rolled\n\n~~~~text\ngatehouse-staging-node: \+-docker:\S+Container: \(replace\)\ngatehouse-staging-pod: ~ \S+ \(update\)\n\n~~~~/,
    );
    expect(comment).toMatch(/### Policies\n\n~~~~text\n\[mandatory\] {2}\[severity: high\] {2}image-pinned/);
    // Printed output is between fences that it can't close, and the runner can't interpret it as a command.
    expect(comment).toContain("~~~~~text\nPreviewing update (staging):");
    expect(log).toMatch(/::stop-commands::([0-9a-f]{32})\n[\s\S]*::error::from a pull request\n::\1::/);
  });

  it("shows the error of a failed preview even after a long output", async () => {
    const output = `${"x".repeat(60_000)}\nDiagnostics:\n  error: 2 problems in the stack's configuration\n    gatehouse:payTo: missing\n`;
    await pipeline.stand("pulumi-preview", { output, status: 1 });
    expect((await pipeline.runJob("pull-request.yml", "preview", "dev")).status).toBe(1);
    const comment = await pipeline.report("preview-dev.md");
    expect(comment).toMatch(
      /### Error\n\n~~~~text\nDiagnostics:\n {2}error: 2 problems .*\n {4}gatehouse:payTo: missing\n/,
    );
    expect(Buffer.byteLength(comment)).toBeLessThan(65_536);
  });

  it("omits empty sections, and truncates a long preview to the comment limit", async () => {
    await pipeline.stand("pulumi-preview", { output: `${"é".repeat(60_000)}\n` });
    expect((await pipeline.runJob("pull-request.yml", "preview", "dev")).status).toBe(0);
    const comment = await pipeline.report("preview-dev.md");
    expect(comment).not.toContain("###");
    expect(comment).toContain("The rest is in the log of the run.");
    expect(Buffer.byteLength(comment)).toBeLessThan(65_536);
    expect(comment).not.toContain("\uFFFD");
  });

  it("keeps a report with many warnings within the comment limit", async () => {
    const lines = Array.from({ length: 3_000 }, (_, index) => [
      "    - docker:index/volume:Volume: (delete) 🔒",
      `        [urn=urn:pulumi:staging::gatehouse::docker:index/volume:Volume::${"x".repeat(30)}-${index}]`,
      `    [mandatory]  [severity: high]  image-pinned  ${index} ${"~".repeat(40)}`,
    ]).flat();
    await pipeline.stand("pulumi-preview", { output: `${"~".repeat(60_000)}\n${lines.join("\n")}\n` });
    expect((await pipeline.runJob("pull-request.yml", "preview", "dev")).status).toBe(0);
    const comment = await pipeline.report("preview-dev.md");
    expect(comment.match(/^### .*$/gm)).toEqual(["### Replaced, deleted or rolled", "### Policies"]);
    expect(comment.match(/The rest is in the log of the run\./g)).toHaveLength(3);
    expect(comment.length).toBeLessThan(65_536);
  });

  it("posts the report as a comment, and updates it from then on", async () => {
    await pipeline.stand("pulumi-preview", { output: "nothing\n" });
    await pipeline.runJob("pull-request.yml", "preview", "dev");
    await pipeline.calls();
    const body = `body=@${join(pipeline.directory, "reports/preview-dev.md")}`;
    expect((await pipeline.runJob("pull-request.yml", "comment", "dev")).status).toBe(0);
    const comments = "repos/acme/nodes/issues/7/comments";
    expect((await pipeline.calls()).at(-1)).toEqual([
      "gh",
      "api",
      "--method",
      "POST",
      comments,
      "--field",
      body,
      "--silent",
    ]);
    await pipeline.stand(`gh-api-${comments.replaceAll("/", "_")}`, { output: "41\n42\n" });
    expect((await pipeline.runJob("pull-request.yml", "comment", "dev")).status).toBe(0);
    const change = [
      "gh",
      "api",
      "--method",
      "PATCH",
      "repos/acme/nodes/issues/comments/42",
      "--field",
      body,
      "--silent",
    ];
    expect((await pipeline.calls()).at(-1)).toEqual(change);
  });
});

describe("a merge", () => {
  it("updates with the policies, then expects no remaining changes", async () => {
    expect((await pipeline.runJob("deploy.yml", "production")).status).toBe(0);
    const [, up, after] = await pipeline.calls();
    expect(up).toEqual(["pulumi", "up", "--yes", ...judged(), ...onStack("production")]);
    expect(after).toEqual(["pulumi", "preview", "--expect-no-changes", ...onStack("production")]);
  });

  it("fails if the update fails, and skips the subsequent check", async () => {
    await pipeline.stand("pulumi-up", { output: "error: it broke\n", status: 255 });
    const { status, output } = await pipeline.runJob("deploy.yml", "dev");
    expect([status, output]).toEqual([
      1,
      expect.stringContaining("pulumi up ended with 255; what was done stays done"),
    ]);
    expect((await pipeline.calls()).filter(([, command]) => command === "preview")).toEqual([]);
  });

  it("explains how to unlock a stack after a killed run", async () => {
    const locked = "error: the stack is currently locked by 1 lock(s).\n";
    await pipeline.stand("pulumi-up", { output: locked, status: 255 });
    const { status, output } = await pipeline.runJob("deploy.yml", "dev");
    expect([status, output]).toEqual([1, expect.stringContaining("If nobody is updating: pulumi cancel --yes")]);
  });

  it("exits with 2 when an update leaves changes", async () => {
    await pipeline.stand("pulumi-preview", { output: "error: no changes were expected\n", status: 7 });
    expect((await pipeline.runJob("deploy.yml", "dev")).status).toBe(2);
  });
});

describe("the nightly drift check", () => {
  it("refreshes without changes, and closes the issue without drift", async () => {
    expect((await pipeline.runJob("drift.yml", "look", "dev")).status).toBe(0);
    const look = ["pulumi", "preview", "--refresh", "--expect-no-changes", "--diff", ...onStack("dev")];
    expect((await pipeline.calls()).slice(1)).toEqual([look]);
    await pipeline.stand("gh-issue-list", { output: "12\n" });
    expect((await pipeline.runJob("drift.yml", "report", "dev")).status).toBe(0);
    expect((await pipeline.calls()).at(-1)).toEqual([
      "gh",
      "issue",
      "close",
      "12",
      "--comment",
      "The last look found no drift.",
    ]);
  });

  it.each([
    ["Pulumi 3.226.1 and later", 7],
    ["an earlier Pulumi", 255],
  ])("opens one issue with the drift and keeps it updated: %s", async (_, status) => {
    const output = "~ image: changed by hand\nerror: no changes were expected but changes were proposed\n";
    await pipeline.stand("pulumi-preview", { output, status });
    expect((await pipeline.runJob("drift.yml", "look", "production")).status).toBe(0);
    expect(await pipeline.report("drift-production.status")).toBe("2\n");
    expect(await pipeline.report("drift-production.md")).toContain("~ image: changed by hand");
    await pipeline.calls();
    expect((await pipeline.runJob("drift.yml", "report", "production")).status).toBe(0);
    const body = ["--body-file", join(pipeline.directory, "reports/drift-production.md")];
    const create = ["gh", "issue", "create", "--title", "Drift in production", "--label", "gatehouse-drift", ...body];
    expect((await pipeline.calls()).at(-1)).toEqual(create);
    await pipeline.stand("gh-issue-list", { output: "12\n" });
    expect((await pipeline.runJob("drift.yml", "report", "production")).status).toBe(0);
    expect((await pipeline.calls()).at(-1)).toEqual(["gh", "issue", "edit", "12", ...body]);
  });

  it("fails when it can't check, and leaves the issue unchanged", async () => {
    await pipeline.stand("pulumi-preview", { output: "error: no credentials\n", status: 3 });
    expect((await pipeline.runJob("drift.yml", "look", "dev")).status).toBe(1);
    await pipeline.calls();
    const { status, output } = await pipeline.runJob("drift.yml", "report", "dev");
    expect([status, output]).toEqual([1, expect.stringContaining("whether dev drifted is not known")]);
    expect((await pipeline.calls()).map((call) => call.slice(0, 3))).toEqual([["gh", "issue", "list"]]);
  });
});

const servicesOutputs = {
  configuration: { sidecar: { settingsSha256: "", files: {} } },
  urls: { operations: { status: "http://127.0.0.1:1/status", resourceServerMetrics: "http://127.0.0.1:1/metrics" } },
};
const askServices = () => pipeline.runScript("drift.sh", ["dev"], { SERVICE_URLS: "sidecar=http://127.0.0.1:1" });

describe("scripts/drift.sh with the running services", () => {
  it("queries the URLs from the stack's outputs, and reports an unreachable service", async () => {
    await pipeline.stand("pulumi-stack-output", { output: JSON.stringify(servicesOutputs) });
    expect((await askServices()).status).toBe(1);
    expect(await pipeline.report("drift-dev.txt")).toContain(
      "unknown: drift: sidecar: http://127.0.0.1:1/configuration can't be queried",
    );
  });

  it("reports missing stack outputs", async () => {
    await pipeline.stand("pulumi-stack-output", { status: 3 });
    expect((await askServices()).status).toBe(1);
    expect(await pipeline.report("drift-dev.txt")).toContain(
      "pulumi stack output ended with 3, so the services were not asked.",
    );
  });
});

describe("scripts/drift.sh with the running node's node.conf", () => {
  const key = `0x${"ab".repeat(32)}`;
  const node0162 = { NODE_VERSION: "0.16.2" };
  const settings = { GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "10.0.0.1" };
  const look = (command: string, environment = "dev", version: Readonly<Record<string, string>> = node0162) =>
    pipeline.runScript("drift.sh", [environment], { ...settings, ...version, NODE_CONF_COMMAND: command });

  it("reports drift that the provider can't see, without secrets or leftover copies", async () => {
    await pipeline.commit("running-in-dev.conf", `{ "chain": { "domain_key_path": "${key}", "monitor_config": {} } }`);
    const { status, output } = await look('cat "running-in-$ENVIRONMENT.conf"');
    expect(status).toBe(2);
    expect(await pipeline.report("drift-dev.md")).toContain("storage_enable_cetina added as true");
    expect(output + (await pipeline.report("drift-dev.md"))).not.toContain(key);
    expect(existsSync(join(pipeline.directory, "reports/dev.running.node.conf"))).toBe(false);
  });

  it("uses the version of the environment's stack", async () => {
    await pipeline.commit("running.conf", `{ "chain": { "domain_key_path": "${key}", "monitor_config": {} } }`);
    expect((await look("cat running.conf", "staging", {})).status).toBe(2);
    expect(await pipeline.report("drift-staging.md")).toContain("storage_enable_cetina added as true");
    const { output, status } = await look("cat running.conf", "dev", {});
    expect([status, output]).toEqual([1, expect.stringContaining("set gatehouse:nodeVersion of the stack")]);
  });

  it("reports a failed command, and still reports drift that the provider sees", async () => {
    expect((await look("exit 9")).status).toBe(1);
    expect(await pipeline.report("drift-dev.txt")).toContain(
      "NODE_CONF_COMMAND ended with 9, so node.conf was not looked at.",
    );
    expect((await look("printf '{'")).status).toBe(1);
    await pipeline.stand("pulumi-preview", { status: 7 });
    expect((await look("exit 9")).status).toBe(2);
  });
});

describe("a script", () => {
  it("rejects an environment without a stack, and an invalid name", async () => {
    for (const name of ["", "../etc", "test"]) {
      const { status, output } = await pipeline.runScript("deploy.sh", [name]);
      expect([status, output]).toEqual([1, expect.stringContaining("dev production staging")]);
    }
  });

  it("prints the submodule command when the submodule is missing", async () => {
    await pipeline.commit("node.conf", drifted);
    for (const script of ["setup.sh", "lint.sh"]) {
      const { status, output } = await pipeline.runScript(script, [], { GATEHOUSE_DIRECTORY: "/nowhere" });
      expect([script, status, output]).toEqual([script, 1, expect.stringContaining("git submodule update --init")]);
    }
  });

  it("prints no token", async () => {
    const { output } = await pipeline.runJob("drift.yml", "report", "dev");
    expect(output).not.toContain("the-token-of-the-run");
    expect(await readFile(join(pipeline.directory, ".github/workflows/drift.yml"), "utf8")).not.toContain("set -x");
  });
});
