import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { PolicyResource } from "#policies/rule.ts";
import { runDocker } from "../engine/docker.ts";
import { runOnEngine } from "../engine/engine-stack.ts";
import { listDeployedResources } from "../../infra/deployed-resources.ts";

/**
 * Replaces Pulumi's command line if it is not installed: accepts the arguments and prints the output that a stack's upgrade uses, with the
 * program's own resources and a real engine. The configuration is JSON; the deployed resources are stored next to it. Needs the directory
 * of both as its working directory.
 */
const project = "gatehouse";
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    stack: { type: "string", default: "" },
    "config-file": { type: "string", default: "" },
    plaintext: { type: "string", multiple: true, default: [] },
    color: { type: "string" },
    json: { type: "boolean" },
    yes: { type: "boolean" },
    "skip-preview": { type: "boolean" },
    "non-interactive": { type: "boolean" },
  },
});
const { stack, plaintext } = values;
const configFile = values["config-file"];
const prefix = `${project}-${stack}`;
/** Pulumi does not print these values. */
const secretKeys = new Set(["signerPrivateKey", "domainKey", "stabilizingKey"]);
const deployedFile = join(process.cwd(), "deployed.json");

/** Max wait for a service: with a node that never responds, the sidecar never becomes ready. */
const waitTimeoutSeconds = { usual: 180, inVain: 5 };

type Config = Readonly<Record<string, string>>;
type Deployed = Readonly<Record<string, string>>;

const readConfig = (): Config => JSON.parse(readFileSync(configFile, "utf8")) as Config;
const readDeployed = (): Deployed => JSON.parse(readFileSync(deployedFile, "utf8")) as Deployed;
const print = (value: unknown) => void process.stdout.write(`${JSON.stringify(value)}\n`);

/** Lists the node and the services that manage it; an upgrade does not involve the rest of a stack. */
async function listWantedResources(): Promise<readonly PolicyResource[]> {
  const parts = /-(edge|private|node|node-.*|sidecar|sidecar-.*|engine-proxy|engine-socket)$/;
  return (await listDeployedResources(readConfig(), prefix)).filter(
    ({ type, name }) => type.startsWith("docker:") && type !== "docker:index/provider:Provider" && parts.test(name),
  );
}

/** A volume and the container that fills it have the same name. */
const formatKey = ({ type, name }: PolicyResource) => `${type}::${name}`;
const formatInputs = ({ props }: PolicyResource) => JSON.stringify(props);
const isContainer = ({ type }: PolicyResource) => type.endsWith(":Container");

/** Resources that are not deployed yet, or differ; a killed update may have left out a container. */
async function findChanges() {
  const deployed = readDeployed();
  const all = await listWantedResources();
  const there = (await runDocker("ps", "--all", "--format", "{{.Names}}")).split("\n");
  const isAway = (resource: PolicyResource) => isContainer(resource) && !there.includes(resource.name);
  const isOther = (resource: PolicyResource) => deployed[formatKey(resource)] !== formatInputs(resource);
  return { all, changed: all.filter((resource) => isOther(resource) || isAway(resource)) };
}

async function update(): Promise<void> {
  const { all, changed } = await findChanges();
  const networks = (await runDocker("network", "ls", "--format", "{{.Name}}")).split("\n");
  for (const { name } of changed.filter(isContainer)) {
    process.stdout.write(`replacing ${name}\n`);
    await runDocker("rm", "--force", name);
  }
  const { nodeImage, dockerEngine: url = "" } = readConfig();
  const isInVain = nodeImage === process.env["GATEHOUSE_TEST_UNREADY_IMAGE"];
  const waitTimeout = isInVain ? waitTimeoutSeconds.inVain : waitTimeoutSeconds.usual;
  const made = changed.filter(({ type, name }) => !(type.endsWith(":Network") && networks.includes(name)));
  const boundedResources = made.map((resource) => ({
    ...resource,
    props: { ...resource.props, ...(resource.props["wait"] === true ? { waitTimeout } : {}) },
  }));
  // A half-failed resource counts as deployed, as in Pulumi's own state.
  writeFileSync(
    deployedFile,
    JSON.stringify(Object.fromEntries(all.map((each) => [formatKey(each), formatInputs(each)]))),
  );
  const running = await runOnEngine(boundedResources, { url, prefix, keepsOnFailure: true });
  await running.api[Symbol.asyncDispose]();
}

const stripProject = (key: string) => key.replace(`${project}:`, "");

async function runCommand(): Promise<void> {
  const [command, word, key = ""] = positionals;
  const config = command === "stack" || command === "whoami" ? {} : readConfig();
  if (command === "config" && word === undefined) {
    const reported = (each: string, value: string) =>
      secretKeys.has(each) ? { secret: true } : { value, secret: false };
    print(
      Object.fromEntries(Object.entries(config).map(([each, value]) => [`${project}:${each}`, reported(each, value)])),
    );
  } else if (command === "config" && word === "set-all") {
    const set = plaintext.map((pair) => [
      stripProject(pair.slice(0, pair.indexOf("="))),
      pair.slice(pair.indexOf("=") + 1),
    ]);
    writeFileSync(configFile, JSON.stringify({ ...config, ...Object.fromEntries(set) }));
  } else if (command === "config" && word === "rm") {
    writeFileSync(configFile, JSON.stringify({ ...config, [stripProject(key)]: undefined }));
  } else if (command === "preview") {
    const { all, changed } = await findChanges();
    const steps = all.map((resource) => ({
      op: changed.includes(resource) ? "replace" : "same",
      urn: `urn:pulumi:${stack}::${project}::${formatKey(resource)}`,
    }));
    print({ steps });
  } else if (command === "up") {
    await update();
  } else if (command === "whoami") {
    print({ user: "somebody", url: `file://${process.cwd()}` });
  } else if (command === "stack" && word === "export") {
    // The stand-in stores no ids, and a killed update leaves nothing pending.
    print({ version: 3, deployment: { resources: [] } });
  } else if (command === "stack" && word === "output") {
    print(JSON.parse(readFileSync(join(process.cwd(), "outputs.json"), "utf8")));
  } else {
    throw new Error(`the stand-in does not support pulumi ${positionals.join(" ")}`);
  }
}

try {
  await runCommand();
} catch (error) {
  process.stderr.write(`error: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
