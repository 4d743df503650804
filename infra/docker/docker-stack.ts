import * as docker from "@pulumi/docker";
import type { StackConfig } from "../config/config-schema.ts";
import { imagesOf, unnamedImages } from "../services/stack-images.ts";
import { watchersPorts } from "../services/observability-args.ts";
import { DockerHost } from "./docker-host.ts";
import { engineSocketPath, socketGroup } from "./engine-socket.ts";
import { engineTraits } from "./engine-traits.ts";
import { GatehouseImages } from "./gatehouse-images.ts";

/**
 * Makes the Docker host of a stack: the provider of its engine, the images, the networks.
 *
 * @throws {ConfigError} for a socket that is not there, before anything is made.
 */
export async function dockerHostOf(
  config: StackConfig,
  { prefix, root }: Readonly<{ prefix: string; root: string }>,
): Promise<DockerHost> {
  const path = engineSocketPath(config.dockerEngine);
  const { builder, startInterval } = await engineTraits(config);
  const provider = new docker.Provider("engine", { host: config.dockerEngine });
  const images = new GatehouseImages(
    `${prefix}-images`,
    {
      baseImage: config.baseImage,
      nodeUser: config.nodeUser,
      named: imagesOf(config),
      buildsDevnet: unnamedImages(config).includes("devnet"),
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
      ...watchersPorts(config),
    },
    engineSocket: { path, group: config.dockerSocketGroup ?? socketGroup(path) },
    engineProxy: { limits: config.limits["engine-proxy"], settings: config.settings["engine-proxy"] },
    protectData: config.protectData,
    startInterval,
  });
}
