import { getProject, getRootDirectory, getStack } from "@pulumi/pulumi";
import { parseConfig } from "./config.ts";
import { deployStack } from "./deploy-stack.ts";
import { installImageDependencies } from "./docker/image-dependencies.ts";
import { stackConfiguration } from "./stack-input.ts";
import { dockerOutputs, kubernetesOutputs } from "./stack-outputs.ts";

const project = getProject();
const config = parseConfig(stackConfiguration(project));
if (config.target === "docker" && (config.gatehouseImage === undefined || config.devnetImage === undefined)) {
  installImageDependencies(getRootDirectory());
}
await deployStack(config, { prefix: `${project}-${getStack()}`, root: getRootDirectory() });

export const { urls, tryThis, signer } = config.target === "docker" ? dockerOutputs(config) : kubernetesOutputs(config);
