import { z } from "zod";
import { chainId, port, seconds } from "#daemon/settings/types.ts";
import { stackServices } from "#daemon/stack-services.ts";
import { nodeFamilies } from "#node/families.ts";
import { nodeVersion } from "#node/version-setting.ts";
import { imageReference } from "./config-types.ts";

const families = nodeFamilies.map(({ name }) => name);

/** Max size of a file in the node's workspace, in characters; Kubernetes stores all of them in one object of 1 MiB. */
const fileCharactersMax = 900_000;

/** File content, or the path of a local file that contains it: Pulumi passes a program at most 128 KiB of configuration. */
const fileText = z
  .string()
  .min(1)
  .max(fileCharactersMax)
  .meta({ expected: "the file's text, or file: and an absolute path" });

/** Secret keys of the node. */
export const nodeSecrets = {
  nodeKeysPassword: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .meta({ expected: "the password of domain.key and stabilizing.key" })
    .describe("Password of the node's keys, for an image that starts the node with it"),
  nodeEnvironment: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
    .optional()
    .meta({ expected: "{NAME: value} with the variables of nodeImage, each value a text" })
    .describe("Further variables of nodeImage by name, secret or not: {NAME: value}"),
  nodeFiles: z
    .record(z.string().regex(/^(?!.*(^|\/)\.{1,2}(\/|$))[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/), fileText)
    .optional()
    .meta({ expected: "{path: text} by the path below /data, each text the file's own or file: and an absolute path" })
    .describe("Further files of nodeImage by the path below /data, secret or not: {path: text}"),
};

/** Keys for the node and its metrics target. */
export const nodeKeys = {
  nodeImage: imageReference.optional().describe("Image of a real node, with a digest; default is the devnet node"),
  nodeFamily: z
    .enum(families)
    .optional()
    .meta({ expected: families.join(" or ") })
    .describe(`Family of nodeImage, ${families.join(" or ")}; default: by its tag, else ${families[0]}`),
  nodeGenesis: fileText
    .optional()
    .describe("Genesis configuration that the image's entry point runs genesis from: its text, or file:/absolute/path"),
  nodeForks: fileText
    .optional()
    .describe("Fork schedule, bin/VERSION of the workspace: its text, or file:/absolute/path; default is the image's"),
  nodeUlimits: z
    .strictObject({ nofile: z.int().min(1_024).max(1_073_741_816).describe("Files that the node may have open") })
    .optional()
    .meta({ expected: "{nofile: a whole number from 1024 to 1073741816}" })
    .describe("Docker: limits of the node's process, {nofile}; default: by the family"),
  nodeUser: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .optional()
    .meta({ notSet: 0, expected: "the number of the user that the node's image runs as" })
    .describe("Number of the user that nodeImage runs as; needed with nodeImage, unless its family has one"),
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
