import { z } from "zod";
import { chainId, port, seconds } from "#daemon/settings/types.ts";
import { stackServices } from "../stack-services.ts";
import { nodeFamilies } from "#node/families.ts";
import { nodeVersion } from "#node/version-setting.ts";
import { imageReference } from "./config-types.ts";

const families = nodeFamilies.map(({ name }) => name);

/** Max size of a file in the node's workspace, in characters; Kubernetes stores all these files in one object of 1 MiB. */
const fileCharactersMax = 900_000;

/** The content of a file, or the path of a local file that contains it: Pulumi passes at most 128 KiB of configuration to a program. */
const fileText = z
  .string()
  .min(1)
  .max(fileCharactersMax)
  .meta({ expected: "the file's text, or file: and an absolute path" });

export const nodeSecrets = {
  nodeKeysPassword: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .meta({ expected: "the password of domain.key and stabilizing.key" })
    .describe("Password for the node's keys, for images that pass it to the node at start"),
  nodeEnvironment: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string())
    .optional()
    .meta({ expected: "{NAME: value}: environment variables for nodeImage; values are text" })
    .describe("Additional environment variables for nodeImage, secret or not: {NAME: value}"),
  nodeFiles: z
    .record(z.string().regex(/^(?!.*(^|\/)\.{1,2}(\/|$))[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/), fileText)
    .optional()
    .meta({
      expected:
        "{path: text}, with paths relative to /data; text is the file's contents, or file: and an absolute path",
    })
    .describe("Additional files for nodeImage, by path under /data, secret or not: {path: text}"),
};

export const nodeKeys = {
  nodeImage: imageReference.optional().describe("Image of a real node, with a digest; default: the devnet node"),
  nodeFamily: z
    .enum(families)
    .optional()
    .meta({ expected: families.join(" or ") })
    .describe(`Family of nodeImage, ${families.join(" or ")}; default: from its tag, else ${families[0]}`),
  nodeGenesis: fileText
    .optional()
    .describe("Genesis configuration for the image's entry point: its text, or file:/absolute/path"),
  nodeForks: fileText
    .optional()
    .describe("Fork schedule, bin/VERSION in the workspace: its text, or file:/absolute/path; default: the image's"),
  nodeUlimits: z
    .strictObject({ nofile: z.int().min(1_024).max(1_073_741_816).describe("Max open files of the node") })
    .optional()
    .meta({ expected: "{nofile: a whole number from 1024 to 1073741816}" })
    .describe("Docker: ulimits for the node's process, {nofile}; default: by family"),
  nodeUser: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .optional()
    .meta({ notSet: 0, expected: "the user ID that the node's image runs as" })
    .describe("User ID that nodeImage runs as; required with nodeImage, unless its family has one"),
  nodeKeysSecret: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/)
    .optional()
    .meta({ expected: "the name of a Kubernetes Secret with the entries domain.key and stabilizing.key" })
    .describe(
      "Kubernetes: Secret in the namespace with domain.key and stabilizing.key, instead of the secrets domainKey and stabilizingKey",
    ),
  nodeKeysDirectory: z
    .string()
    .regex(/^\/[^:]*[^:/]$/)
    .optional()
    .meta({ expected: "an absolute directory of the Docker host with the files domain.key and stabilizing.key" })
    .describe(
      "Docker: host directory with domain.key and stabilizing.key, instead of the secrets domainKey and stabilizingKey",
    ),
  nodeHealthCommand: z
    .array(z.string().min(1).max(1_000))
    .min(1)
    .max(50)
    .optional()
    .meta({ expected: 'a command in nodeImage, such as ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18100"]' })
    .describe("Docker: health check command in the node's container; exit status 0 means healthy"),
  pushgatewayImage: imageReference
    .optional()
    .describe(
      `Prometheus Pushgateway image, with a digest; default: ${stackServices.pushgateway.official.split("@")[0]} pinned by digest`,
    ),
  pushgatewayUrl: z
    .url({ protocol: /^http$/ })
    .optional()
    .meta({ expected: "an http:// URL of a Pushgateway, such as http://pushgateway.monitoring.svc:9091" })
    .describe("Existing Pushgateway, http://host:port, for the node to push to; if set, none is deployed"),
  pushgatewayPort: port
    .min(1)
    .default(stackServices.pushgateway.ports.http)
    .describe("Docker: loopback host port for the Pushgateway, for Prometheus to scrape"),
  nodeVersion: nodeVersion
    .optional()
    .meta({ expected: "the node's version, such as 0.16.2" })
    .describe(
      "Node version, which determines the names of its metrics keys; default: the tag of nodeImage, which must then contain it, and 0.16.2 for the devnet node",
    ),
  metricsPushIntervalSeconds: seconds.default(10).describe("Metrics push interval of the node, in seconds"),
  chainId: chainId.default(1_672).describe("EIP-155 chain ID"),
};
