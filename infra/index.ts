import { getProject, getRootDirectory, getStack } from "@pulumi/pulumi";
import { parseConfig } from "./config.ts";
import { deployStack } from "./deploy-stack.ts";
import { watchInterruptions } from "./interruption-watch.ts";
import { installImageDependencies } from "./docker/image-dependencies.ts";
import { preflight } from "./preflight/preflight.ts";
import { stackConfiguration } from "./stack-input.ts";
import { dockerOutputs, kubernetesOutputs } from "./stack-outputs.ts";

const project = getProject();
const prefix = `${project}-${getStack()}`;
const config = parseConfig(stackConfiguration(project));
await preflight(config, { prefix, environment: process.env });
if (config.target === "docker" && (config.gatehouseImage === undefined || config.devnetImage === undefined)) {
  installImageDependencies(getRootDirectory());
}
const watch = watchInterruptions({ project, stack: getStack() });
await deployStack(config, { prefix, root: getRootDirectory() });

export const { urls, tryThis, signer } = config.target === "docker" ? dockerOutputs(config) : kubernetesOutputs(config);

/** What the next preview watches over. */
export const watchedAtPreview = await watch.end();
