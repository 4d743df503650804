import { z } from "zod";
import { chainId, port, seconds } from "#daemon/settings/types.ts";
import { stackServices } from "#daemon/stack-services.ts";
import { nodeVersion } from "#node/version-setting.ts";
import { imageReference } from "./config-types.ts";

/** The keys of the node and of the target of its metrics. */
export const nodeKeys = {
  nodeImage: imageReference.optional().describe("Image of a real node, with a digest; default is the devnet node"),
  nodeUser: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .optional()
    .meta({ notSet: 0, expected: "the number of the user that the node's image runs as" })
    .describe("Number of the user that nodeImage runs as; needed with nodeImage"),
  nodeKeysSecret: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/)
    .optional()
    .meta({ expected: "the name of a Kubernetes Secret with the entries domain.key and stabilizing.key" })
    .describe(
      "Kubernetes: Secret of the namespace with domain.key and stabilizing.key, instead of the secrets domainKey and stabilizingKey",
    ),
  nodeKeysDirectory: z
    .string()
    .regex(/^\/[^:]*[^:/]$/)
    .optional()
    .meta({ expected: "an absolute directory of the Docker host with the files domain.key and stabilizing.key" })
    .describe(
      "Docker: directory of the host with domain.key and stabilizing.key, instead of the secrets domainKey and stabilizingKey",
    ),
  nodeHealthCommand: z
    .array(z.string().min(1).max(1_000))
    .min(1)
    .max(50)
    .optional()
    .meta({ expected: 'a command that nodeImage has, such as ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18100"]' })
    .describe(
      "Docker: command of nodeImage that the engine runs in the node's container and that ends with status 0 while the node is well",
    ),
  pushgatewayImage: imageReference
    .optional()
    .describe(
      `Image of Prometheus's Pushgateway, with a digest; default is ${stackServices.pushgateway.official.split("@")[0]} by its digest`,
    ),
  pushgatewayUrl: z
    .url({ protocol: /^http$/ })
    .optional()
    .meta({ expected: "an http:// URL of a Pushgateway, such as http://pushgateway.monitoring.svc:9091" })
    .describe("Pushgateway that runs already, http://host:port; with it none is deployed, and the node pushes there"),
  pushgatewayPort: port
    .min(1)
    .default(stackServices.pushgateway.ports.http)
    .describe("Docker: host port, on loopback, of the Pushgateway, for Prometheus to scrape"),
  nodeVersion: nodeVersion
    .optional()
    .meta({ expected: "the node's version, such as 0.16.2" })
    .describe(
      "Version of the node, which decides the names of its metrics keys; default is the tag of nodeImage, which has to name it then, and 0.16.2 for the devnet node",
    ),
  metricsPushIntervalSeconds: seconds.default(10).describe("Seconds between two pushes of the node's metrics"),
  chainId: chainId.default(1_672).describe("EIP-155 chain id"),
};
