import { z } from "zod";
import { port, yesOrNo } from "#daemon/settings/types.ts";
import { stackServices } from "#daemon/stack-services.ts";
import { imageArchitectures } from "../images/image-architecture.ts";
import { imageReference } from "./config-types.ts";

const { ports: sidecar } = stackServices.sidecar;
const { ports: server } = stackServices["resource-server"];

/** Keys for the Docker host, its published ports and the images it builds. */
export const dockerKeys = {
  target: z
    .enum(["docker", "kubernetes"])
    .default("docker")
    .meta({ expected: "docker or kubernetes" })
    .describe("Where the stack runs: docker or kubernetes"),
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
    .meta({ notSet: -1, expected: "the number of the group that may use the engine's socket" })
    .describe("Group that may use the engine's socket; found by itself where the engine is on this machine"),
  publishAddress: z
    .union([z.ipv4(), z.ipv6()])
    .default("127.0.0.1")
    .meta({ expected: "an IP address of the Docker host" })
    .describe("Address of the Docker host on which the gateway and the resource server are published"),
  gatewayPort: port.min(1).default(sidecar.rpc).describe("Host port of the gateway, HTTP and WebSocket"),
  privateGatewayPort: port
    .min(1)
    .default(sidecar["private-rpc"])
    .describe("Host port, on loopback, of the gateway for callers who bought a token"),
  resourceServerPort: port.min(1).default(server.http).describe("Host port of the resource server"),
  resourceServerOperationsPort: port
    .min(1)
    .default(server.operations)
    .describe("Host port, on loopback, of the resource server's health and metrics"),
  statusPort: port
    .min(1)
    .default(sidecar.status)
    .describe("Host port, on loopback, of the sidecar's health, metrics and status"),
  baseImage: imageReference
    .default("node:26-bookworm-slim")
    .describe("Image with Node 24 or later, and for the devnet a shell, that Gatehouse's images are built on"),
  imageBuilder: z
    .enum(["auto", "classic", "buildkit"])
    .default("auto")
    .meta({ expected: "auto, classic or buildkit" })
    .describe("Docker's builder for the images: classic, buildkit, or auto for the one that the engine recommends"),
  imageArchitecture: z
    .enum(["auto", ...imageArchitectures])
    .default("auto")
    .meta({ expected: `auto, ${imageArchitectures.join(" or ")}` })
    .describe("Processor that the images are built for: amd64, arm64, or auto for that of an engine on this machine"),
  protectData: yesOrNo
    .default(true)
    .describe("Whether chain data and ledgers are protected against deletion and kept by destroy"),
  gatehouseImage: imageReference
    .optional()
    .describe("Image of Gatehouse by reference; default, on Docker, is to build it"),
  devnetImage: imageReference
    .optional()
    .describe("Image of the devnet node by reference; default, on Docker, is to build it"),
};
