import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { onDocker, readStackFile, signerPrivateKey } from "#infra/testing/stack-configs.ts";
import { root } from "../style/rooms.ts";
import { listDeployedResources } from "./deployed-resources.ts";

const secrets: Readonly<Record<string, string>> = {
  signerPrivateKey,
  domainKey: "a key of the node",
  stabilizingKey: "another key of the node",
};

const exampleConfig = (name: string) => readStackFile(join(root, "infra/examples", name));
const guide = (name: string) => readFileSync(join(root, "docs/guides", name), "utf8");

/** Reads the secrets that a page instructs its reader to set. */
function secretsOf(page: string): Readonly<Record<string, string>> {
  const named = [...page.matchAll(/pulumi config set --secret (\w+)/g)].map(([, key = ""]) => [
    key,
    secrets[key] ?? "",
  ]);
  return Object.fromEntries(named) as Record<string, string>;
}

test("the minimum configuration of docs/guides/docker.md deploys a stack", async () => {
  const page = guide("docker.md");
  const table = page.slice(page.indexOf("It needs at least"), page.indexOf("and may have"));
  const needed = new Set([...table.matchAll(/`(\w+)`/g)].map(([, key = ""]) => key));
  const example = { target: "docker", ...exampleConfig("Pulumi.docker-node.yaml") };
  const given = Object.entries(example).filter(([key]) => needed.has(key));
  expect(page).toContain("cp infra/examples/Pulumi.docker-node.yaml Pulumi.production.yaml");
  expect(given.length).toBeGreaterThan(6);
  const deployedResources = await listDeployedResources({
    ...Object.fromEntries(given),
    ...secretsOf(page),
    ...onDocker,
  });
  expect(deployedResources.map(({ name }) => name)).toEqual(expect.arrayContaining(["gh-node", "gh-facilitator"]));
});

test("the commands of docs/guides/docker.md configure an image that copies its binaries", async () => {
  const page = guide("docker.md");
  const section = page.split("## An image that copies")[1] ?? "";
  const files = await makeTestDirectory();
  for (const name of ["genesis.conf", "VERSION"]) writeFileSync(join(files, name), `the ${name}`);
  const typed = [...section.matchAll(/^pulumi config set (?:--secret )?(\w+)(?: (\S+))?(?=\s|$)/gm)].map(
    ([, key = "", value = ""]): [string, string] => [
      key,
      value.startsWith("#") || value === ""
        ? "a password"
        : value.replace("…", "a".repeat(64)).replace("/srv/chain", files),
    ],
  );
  const typedKeys = typed.map(([key]) => key);
  expect(typedKeys).toEqual(["nodeImage", "nodeKeysPassword", "nodeGenesis", "nodeForks"]);
  // A stack with such an image needs nothing besides what the section describes.
  const { nodeVersion: _, nodeUser: __, nodeHealthCommand: ___, ...example } = exampleConfig("Pulumi.docker-node.yaml");
  const given = { ...example, ...Object.fromEntries(typed), ...secretsOf(page), ...onDocker };
  const deployedResources = await listDeployedResources(given);
  const container = (wanted: string) =>
    deployedResources.find(({ type, name }) => type === "docker:index/container:Container" && name === wanted)?.props;
  expect(container("gh-node")).toMatchObject({
    user: expect.stringMatching(/^1000\b/) as unknown,
    image: expect.anything() as unknown,
  });
  expect(JSON.stringify(container("gh-node-conf"))).toContain("the genesis.conf");
});

test("the example file of docs/guides/kubernetes.md deploys a node once its secrets are set", async () => {
  const page = guide("kubernetes.md");
  expect(page).toContain("cp infra/examples/Pulumi.kubernetes.yaml Pulumi.production.yaml");
  const deployedResources = await listDeployedResources({
    ...exampleConfig("Pulumi.kubernetes.yaml"),
    ...secretsOf(page),
  });
  expect(deployedResources.filter(({ type }) => type.endsWith("StatefulSet"))).not.toEqual([]);
});
