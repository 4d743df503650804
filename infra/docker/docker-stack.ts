import * as docker from "@pulumi/docker";
import type { StackConfig } from "../config/config-schema.ts";
import type { Scope } from "../platform.ts";
import { listImages, findUnconfiguredImages } from "../services/stack-images.ts";
import { listHostPorts } from "../services/host-ports.ts";
import { DockerHost, type DockerHostArgs } from "./docker-host.ts";
import { findEngineSocket, findSocketGroup, readEngineTraits } from "./engine.ts";
import { GatehouseImages } from "./gatehouse-images.ts";

/**
 * Creates a stack's Docker host: the engine's provider, the images and the networks.
 *
 * @throws {ConfigError} if the socket is missing, before any resource is created.
 */
export async function createDockerHost(
  config: StackConfig,
  { prefix, root, scope }: Readonly<{ prefix: string; root: string; scope: Scope | undefined }>,
): Promise<DockerHost> {
  const path = findEngineSocket(config.dockerEngine);
  const { builder, architecture, startInterval } = await readEngineTraits(config);
  const here = scope && { parent: scope.parent };
  // A program may contain several components; only the name distinguishes their URNs.
  const namePrefix = scope === undefined ? "" : `${prefix}-`;
  const provider = scope?.provider ?? new docker.Provider(`${namePrefix}engine`, { host: config.dockerEngine }, here);
  const images = new GatehouseImages(
    `${prefix}-images`,
    {
      baseImage: config.baseImage,
      nodeUser: config.nodeUser,
      images: listImages(config),
      buildsDevnet: findUnconfiguredImages(config).includes("devnet"),
      root,
      prefix,
      namePrefix,
      builder,
      architecture,
    },
    { ...here, providers: { docker: provider } },
  );
  const args: DockerHostArgs = {
    provider,
    prefix,
    images: images.imageIds,
    publishAddress: config.publishAddress,
    hostPorts: Object.fromEntries(listHostPorts(config).map(({ as, number }) => [as, number])),
    engineSocket: { path, group: config.dockerSocketGroup ?? findSocketGroup(path) },
    engineProxy: { limits: config.limits["engine-proxy"], settings: config.settings["engine-proxy"] },
    protectData: config.protectData,
    startInterval,
  };
  return new DockerHost(`${prefix}-host`, args, here);
}
