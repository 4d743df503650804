import { z } from "zod";
import { yesOrNo } from "#daemon/settings/types.ts";
import { address } from "#x402/address.ts";
import { imageReference, text } from "./config-types.ts";

/** Max replicas of a service: more would exceed the connection limit of a PostgreSQL server. */
const replicasMax = 50;

const replicas = z
  .strictObject({
    min: z.int().min(1).max(replicasMax).describe("Min replicas"),
    max: z.int().min(1).max(replicasMax).describe("Max replicas; above min, an autoscaler scales by CPU"),
  })
  .default({ min: 1, max: 1 })
  .meta({ expected: `{min, max}, whole numbers from 1 to ${replicasMax}` });

export const paymentKeys = {
  devAccounts: yesOrNo
    .default(false)
    .describe("Use the devnet's well-known accounts as signer and payee; rejected with nodeImage"),
  payTo: address.optional().describe("Default payee for routes that specify none"),
  databaseCidr: z
    .union([z.cidrv4(), z.cidrv6()])
    .optional()
    .meta({ expected: "a range of addresses such as 10.1.2.0/24" })
    .describe("Kubernetes: CIDR of databaseUrl's server for network policies; default: its port on any host"),
  postgresImage: imageReference
    .optional()
    .describe(
      "Docker: official PostgreSQL image, 13 or later, for a ledger server; default: one SQLite file per service",
    ),
  postgresUser: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .default(999)
    .meta({ expected: "the user ID of postgres in postgresImage" })
    .describe("User ID of postgres in postgresImage: 999 in Debian images, 70 in Alpine images"),
  facilitatorReplicas: replicas.describe(
    "Kubernetes: facilitator replicas, {min, max}; more than 1 requires databaseUrl; default: 1",
  ),
  resourceServerReplicas: replicas.describe(
    "Kubernetes: resource server replicas, {min, max}; more than 1 requires databaseUrl; default: 1",
  ),
  tokenAddress: address.optional().describe("Contract of the EIP-3009 token with 6 decimals used for prices"),
  tokenName: text("the token's name in its EIP-712 domain")
    .default("USDC")
    .describe("Token name in its EIP-712 domain"),
  tokenVersion: text("the token's version in its EIP-712 domain")
    .default("2")
    .describe("Token version in its EIP-712 domain"),
  routes: z
    .record(z.string(), z.unknown())
    .default({})
    .meta({ expected: "routes keyed by <METHOD> <path>" })
    .describe("Paid routes, keyed by <METHOD> <path>; default: the sample GET /data"),
  publicUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ expected: "an http:// or https:// URL" })
    .describe("Public URL of the resource server, if it differs from the one in clients' requests"),
};
