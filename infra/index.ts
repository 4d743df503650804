import { getProject, getRootDirectory, getStack } from "@pulumi/pulumi";
import { Gatehouse } from "./components/gatehouse.ts";
import { parseConfig } from "./config.ts";
import { stackArgs } from "./spec/stack-specs.ts";
import { deploymentSecret, stackConfiguration } from "./stack-input.ts";
import { dockerOutputs, kubernetesOutputs } from "./stack-outputs.ts";

const project = getProject();
const prefix = `${project}-${getStack()}`;
const config = parseConfig(stackConfiguration(project));
const docker = config.target === "docker";
// Each target's SDK is loaded only where it is used; they take a second of a program's start.
const platform = docker
  ? (await import("./docker/docker-stack.ts")).dockerHostOf(config, { prefix, root: getRootDirectory() })
  : (await import("./kubernetes/kubernetes-stack.ts")).kubernetesNamespaceOf(config, prefix);
const { addresses, restart } = platform;

new Gatehouse(prefix, { ...stackArgs(config, { prefix, addresses, restart, secret: deploymentSecret }), platform });

export const { urls, tryThis, signer } = docker ? dockerOutputs(config) : kubernetesOutputs(config);
