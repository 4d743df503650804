import * as docker from "@pulumi/docker";
import type { StackConfig } from "../config/config-schema.ts";
import { listImages, findUnnamedImages } from "../services/stack-images.ts";
import { listWatchers } from "../services/observability-args.ts";
import { DockerHost } from "./docker-host.ts";
import { findEngineSocket, findSocketGroup, readEngineTraits } from "./engine.ts";
import { GatehouseImages } from "./gatehouse-images.ts";

/**
 * Creates the Docker host of a stack: the provider of its engine, the images, the networks.
 *
 * @throws {ConfigError} for a socket that is not there, before anything is made.
 */
export async function createDockerHost(
  config: StackConfig,
  { prefix, root }: Readonly<{ prefix: string; root: string }>,
): Promise<DockerHost> {
  const path = findEngineSocket(config.dockerEngine);
  const { builder, startInterval } = await readEngineTraits(config);
  const provider = new docker.Provider("engine", { host: config.dockerEngine });
  const images = new GatehouseImages(
    `${prefix}-images`,
    {
      baseImage: config.baseImage,
      nodeUser: config.nodeUser,
      named: listImages(config),
      buildsDevnet: findUnnamedImages(config).includes("devnet"),
      root,
      prefix,
      builder,
    },
    { providers: { docker: provider } },
  );
  return new DockerHost(`${prefix}-host`, {
    provider,
    prefix,
    images: images.identified,
    publishAddress: config.publishAddress,
    hostPorts: {
      gateway: config.gatewayPort,
      privateGateway: config.privateGatewayPort,
      resourceServer: config.resourceServerPort,
      resourceServerOperations: config.resourceServerOperationsPort,
      status: config.statusPort,
      pushgateway: config.pushgatewayPort,
      ...Object.fromEntries(listWatchers(config).map(({ name, hostPort }) => [name, hostPort])),
    },
    engineSocket: { path, group: config.dockerSocketGroup ?? findSocketGroup(path) },
    engineProxy: { limits: config.limits["engine-proxy"], settings: config.settings["engine-proxy"] },
    protectData: config.protectData,
    startInterval,
  });
}
