import { z } from "zod";
import { address, yesOrNo } from "#daemon/settings/types.ts";
import { imageReference, text } from "./config-types.ts";

/** Max replicas of one service: more would exceed the connection limit of a PostgreSQL server. */
const replicasMax = 50;

const replicas = z
  .strictObject({
    min: z.int().min(1).max(replicasMax).describe("Processes that always run"),
    max: z.int().min(1).max(replicasMax).describe("Processes at most; above min, an autoscaler chooses by CPU"),
  })
  .default({ min: 1, max: 1 })
  .meta({ expected: `{min, max}, whole numbers from 1 to ${replicasMax}` });

/** Keys for the payee, the paid routes and the ledgers. */
export const paymentKeys = {
  devAccounts: yesOrNo
    .default(false)
    .describe("Use the devnet's well-known accounts as signer and payee; refused with nodeImage"),
  payTo: address.optional().describe("Account that is paid where a route names no other"),
  databaseCidr: z
    .union([z.cidrv4(), z.cidrv6()])
    .optional()
    .meta({ expected: "a range of addresses such as 10.1.2.0/24" })
    .describe(
      "Kubernetes: addresses of databaseUrl's server that network policies allow; default is its port on any host",
    ),
  postgresImage: imageReference
    .optional()
    .describe(
      "Docker: official PostgreSQL image, 13 or later, of a server for the ledgers; default is a SQLite file each",
    ),
  postgresUser: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .default(999)
    .meta({ expected: "the number of the user postgres of postgresImage" })
    .describe("Number of the user postgres of postgresImage: 999 in images on Debian, 70 in those on Alpine"),
  facilitatorReplicas: replicas.describe(
    "Kubernetes: processes of the facilitator, {min, max}; more than 1 needs databaseUrl; default is 1",
  ),
  resourceServerReplicas: replicas.describe(
    "Kubernetes: processes of the resource server, {min, max}; more than 1 needs databaseUrl; default is 1",
  ),
  tokenAddress: address
    .optional()
    .describe("Contract of the EIP-3009 token with 6 decimals that prices are charged in"),
  tokenName: text("the token's name in its EIP-712 domain")
    .default("USDC")
    .describe("The token's name in its EIP-712 domain"),
  tokenVersion: text("the token's version in its EIP-712 domain")
    .default("2")
    .describe("The token's version in its EIP-712 domain"),
  routes: z
    .record(z.string(), z.unknown())
    .default({})
    .meta({ expected: "routes keyed by <METHOD> <path>" })
    .describe("Routes that are sold, keyed by <METHOD> <path>; default is the sample GET /data"),
  publicUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ expected: "an http:// or https:// URL" })
    .describe("URL under which clients reach the resource server, where it is not what they request"),
};
