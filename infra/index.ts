import { getProject, getRootDirectory, getStack, RunError, runtime } from "@pulumi/pulumi";
import { readConfig } from "./stack-config.ts";
import { deployStack } from "./deploy-stack.ts";
import { readEngineTraits } from "./docker/engine.ts";
import { findUnconfiguredImages } from "./services/stack-images.ts";
import { ImageDependenciesError, installImageDependencies } from "./images/image-dependencies.ts";
import { createStackEngine, listUnready } from "./unready-services.ts";
import { replaceHealthWait } from "./docker/health-wait.ts";
import { preflight } from "./preflight/preflight.ts";
import { deploymentSecret, readStackConfiguration } from "./config/pulumi-config.ts";
import { buildGrafanaOutput, buildStackOutputs } from "./stack-outputs.ts";

const project = getProject();
const prefix = `${project}-${getStack()}`;
const { config, problems } = readConfig(readStackConfiguration(project));
await preflight(config, { prefix, environment: process.env, problems });
if (config.target === "docker") {
  const { architecture } = await readEngineTraits(config);
  prepareImages(getRootDirectory(), { images: findUnconfiguredImages(config), architecture });
}
const engine = createStackEngine(config);
const waitForHealth = engine && replaceHealthWait({ engine, acceptsLive: config.nodeImage !== undefined });
const deployed = await deployStack(config, { prefix, root: getRootDirectory() });
const healthy = deployed.ready.apply(() => (runtime.isDryRun() ? undefined : waitForHealth?.()));
const notReady = listUnready(config, { prefix, deployed: healthy });

const outputs = buildStackOutputs(config);
const grafana = buildGrafanaOutput(config, { prefix, secret: deploymentSecret });

/** The stack's outputs. Undefined ones are omitted: Pulumi would warn about them on each update. */
export default {
  ...outputs,
  /** Grafana's user and password, if the stack includes Grafana: `pulumi stack output --show-secrets grafana`. */
  ...(grafana === undefined ? {} : { grafana }),
  /** Digests of the services' settings and files, for `gatehouse doctor --drift`. */
  configuration: deployed.configuration,
  ...(notReady === undefined ? {} : { notReady }),
};

/**
 * @throws {RunError} if npm can't install the images' dependencies: Pulumi prints its message without a stack trace.
 */
function prepareImages(...[root, wanted]: Parameters<typeof installImageDependencies>): void {
  try {
    installImageDependencies(root, wanted);
  } catch (error) {
    throw error instanceof ImageDependenciesError ? new RunError(error.message) : error;
  }
}
