import { z } from "zod";
import { port, yesOrNo } from "#daemon/settings/types.ts";
import { stackServices } from "../stack-services.ts";
import { imageArchitectures } from "../images/image-dependencies.ts";
import { imageReference } from "./config-types.ts";

const { ports: sidecar } = stackServices.sidecar;
const { ports: server } = stackServices["resource-server"];

export const dockerKeys = {
  target: z
    .enum(["docker", "kubernetes"])
    .default("docker")
    .meta({ expected: "docker or kubernetes" })
    .describe("Deployment target: docker or kubernetes"),
  dockerEngine: z
    .string()
    .regex(/^(unix:\/\/\/|tcp:\/\/|ssh:\/\/|npipe:\/\/).+$/)
    .default("unix:///var/run/docker.sock")
    .meta({ expected: "unix:///path/of/the/socket, tcp://host:port or ssh://user@host" })
    .describe("Docker Engine API: unix:///path, tcp://host:port or ssh://user@host"),
  dockerSocketGroup: z
    .int()
    .min(0)
    .optional()
    .meta({ notSet: -1, expected: "the ID of the group with access to the engine's socket" })
    .describe("Group with access to the engine's socket; detected if the engine is on this machine"),
  publishAddress: z
    .union([z.ipv4(), z.ipv6()])
    .default("127.0.0.1")
    .meta({ expected: "an IP address of the Docker host" })
    .describe("Address on the Docker host on which the gateway and the resource server are published"),
  gatewayPort: port.min(1).default(sidecar.rpc).describe("Host port for the gateway, HTTP and WebSocket"),
  privateGatewayPort: port
    .min(1)
    .default(sidecar["private-rpc"])
    .describe("Loopback host port for the gateway's private listener, for callers with a purchased token"),
  resourceServerPort: port.min(1).default(server.http).describe("Host port for the resource server"),
  resourceServerOperationsPort: port
    .min(1)
    .default(server.operations)
    .describe("Loopback host port for the resource server's health and metrics"),
  statusPort: port
    .min(1)
    .default(sidecar.status)
    .describe("Loopback host port for the sidecar's health, metrics and status"),
  baseImage: imageReference
    .default("node:26-bookworm-slim")
    .describe("Base image for Gatehouse's images: Node 24 or later, and a shell for the devnet"),
  imageArchitecture: z
    .enum(["auto", ...imageArchitectures])
    .default("auto")
    .meta({ expected: `auto, ${imageArchitectures.join(" or ")}` })
    .describe("Image architecture: amd64, arm64, or auto for that of an engine on this machine"),
  protectData: yesOrNo
    .default(true)
    .describe("Whether chain data and ledgers are protected against deletion and retained by destroy"),
  gatehouseImage: imageReference.optional().describe("Gatehouse image reference; default on Docker: built locally"),
  devnetImage: imageReference.optional().describe("Devnet node image reference; default on Docker: built locally"),
};
