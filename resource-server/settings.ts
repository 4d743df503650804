import { section, fixed } from "#daemon/settings/section.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { defineSettings } from "#daemon/settings/settings.ts";
import { connectionSettings, connectionsMax, defineOperationsSettings, proxySettings } from "#daemon/http/settings.ts";
import { postgresSettings } from "#daemon/sql/postgres-settings.ts";
import { secret } from "#daemon/secrets/secret.ts";
import { defaultPorts } from "#daemon/default-ports.ts";
import { networkChainSchema } from "#facilitator/chain/settings.ts";
import {
  bytes,
  chainId,
  filePath,
  host,
  httpUrl,
  milliseconds,
  port,
  positiveInteger,
  privateKeys,
  seconds,
} from "#daemon/settings/types.ts";
import { address } from "#x402/address.ts";
import { z } from "zod";

const commonSettings = ["facilitator.url", "chain.id", "publicUrl", "listen.port"];

/**
 * Settings of the resource server (specification, "x402 route protection configuration"). With `facilitator.url`, payments are verified and
 * settled there; without it, in this process, and all of `settlement` is then required.
 */
export const resourceServerSettings = defineSettings("resource-server", commonSettings, {
  listen: section({
    host: host.default("127.0.0.1").describe("Listen address of the resource server"),
    port: port.default(defaultPorts["resource-server"].http).describe("Listen port of the resource server"),
    requestTimeoutMs: fixed(30_000),
    bodyLimitBytes: bytes.default(1_048_576).describe("Max size of a request body that is read and forwarded"),
    ...connectionSettings,
    connections: fixed(connectionsMax),
    ...proxySettings,
  }),
  operations: defineOperationsSettings({ port: defaultPorts["resource-server"].operations, nothing: "sold" }),
  publicUrl: httpUrl
    .optional()
    .describe("Public URL of the server, used in payment instructions. Default: the URL in the client's request"),
  routesPath: filePath.describe("JSON5 file of paid routes, keyed by `<METHOD> <path>`; hot-reloaded"),
  payTo: address.describe("Recipient address for routes that specify none"),
  chain: section({
    id: chainId.default(1672).describe("EIP-155 ID of the chain for payments"),
  }),
  token: section({
    address: address.describe("Contract of the EIP-3009 token with 6 decimals used for prices"),
    name: z
      .string()
      .min(1)
      .default("USDC")
      .describe("Token name in its EIP-712 domain")
      .meta({ expected: "the token's name, not empty" }),
    version: z
      .string()
      .min(1)
      .default("2")
      .describe("Token version in its EIP-712 domain; signed by wallets and checked by the contract")
      .meta({ expected: "the token's version, not empty" }),
  }),
  facilitator: section({
    url: httpUrl.optional().describe("Facilitator that verifies and settles payments; default: this process does"),
    apiKey: secret(z.string().regex(/^[!-+\--~]{16,256}$/))
      .optional()
      .describe("API key for the facilitator, if it requires one (its setting `apiKeys`)")
      .meta({ expected: "a key of 16 to 256 visible characters without commas", needs: "url" }),
    verifyTimeoutMs: fixed(10_000),
    settleTimeoutMs: fixed(60_000),
  }),
  settlement: section({
    privateKey: privateKeys
      .optional()
      .describe("Private keys of the accounts that pay for settlement if facilitator.url is unset"),
    rpcUrl: httpUrl.optional().describe("JSON-RPC endpoint for the chain if facilitator.url is unset"),
    rpcTimeoutMs: fixed(30_000),
    networks: z
      .array(networkChainSchema)
      .max(32)
      .default([])
      .describe(
        "Additional networks on which routes may sell if facilitator.url is unset, with the keys of the facilitator's `chain`; the routes' offers name the tokens",
      )
      .meta({ expected: 'a list of networks, e.g. [{id: 8453, rpcUrl: "https://…"}]' }),
    ledgerPath: filePath
      .default(".gatehouse/resource-server/settlement.sqlite")
      .describe(
        "SQLite file for in-flight settlements if facilitator.url is unset; with ledger.url they are stored there",
      ),
  }),
  channels: section({
    privateKey: privateKeys
      .optional()
      .describe(
        "Private key that authorizes claims and refunds of channels (scheme `batch-settlement`), followed by the earlier keys of channels that are still unclaimed; it needs no funds; never share it between ledgers. Default: settlement.privateKey",
      ),
    withdrawDelaySeconds: z
      .int()
      .min(900)
      .max(2_592_000)
      .default(86_400)
      .describe(
        "Delay after which a buyer can withdraw from its channel without the seller; changing it requires new channels",
      )
      .meta({ expected: "seconds, a whole number from 900 to 2592000" }),
    claimWithinSeconds: seconds
      .default(3_600)
      .describe("Max time until charges of channels are claimed; a third of withdrawDelaySeconds if that is less"),
  }),
  payment: section({
    validitySeconds: seconds
      .default(300)
      .describe("Validity that offers ask clients to sign (`maxTimeoutSeconds`); up to an hour is accepted anyway"),
    /** How long a payment may accept an offer removed by a routes file change, if the route still pays the same account for the same content. */
    formerOfferMs: fixed(60_000),
    inFlightMax: positiveInteger
      .default(256)
      .describe(
        "Max payments in progress, including responses being delivered; further payments get 503. Clients of one address (IPv6: /64) get at most three quarters of them, less as others use more; at most half of their payments may await a verdict",
      ),
    deliveryTimeoutMs: fixed(120_000),
    resumeIntervalMs: milliseconds
      .default(2_000)
      .describe("Interval between checks for settlements with an unknown outcome"),
  }),
  accessTokens: section({
    privateKey: secret(
      z.string().min(1).max(8_192).meta({ expected: "private keys in PEM (PKCS #8), P-256 or Ed25519" }),
    )
      .optional()
      .describe(
        "Private key that signs the tokens of routes that sell access to a gateway tier, followed by former keys whose tokens remain valid",
      ),
    issuer: z.string().min(1).optional().describe("Token issuer").meta({ expected: "a token issuer" }),
    audience: z.string().min(1).optional().describe("Token audience").meta({ expected: "a token audience" }),
  }),
  upstream: section({
    timeoutMs: milliseconds.default(30_000).describe("Timeout for an upstream's complete response"),
    responseLimitBytes: bytes.default(8_388_608).describe("Max size of an upstream response that is sold"),
  }),
  memory: section({
    totalBytes: bytes
      .optional()
      .describe(
        "Max bytes of request bodies and responses buffered for all clients, at most half for one address; default: a quarter of the process's memory limit or of its heap limit, whichever is less, at most 1 GiB. Never less than listen.bodyLimitBytes and upstream.responseLimitBytes together",
      ),
  }),
  ledger: section({
    path: filePath
      .optional()
      .describe(
        "SQLite file for claimed payments and their undelivered responses; only one process may use it, or two during a hot restart. Default, without ledger.url: .gatehouse/resource-server/claims.sqlite",
      ),
    ...postgresSettings,
    retentionSeconds: seconds
      .default(86_400)
      .describe(
        "Retention of finished payments and undelivered responses; delivered responses are retained until their payment expires",
      ),
    responseBytes: bytes
      .default(1_073_741_824)
      .describe(
        "Max bytes of stored responses; above three quarters, the oldest delivered responses are deleted, then undelivered responses of expired payments. While those don't suffice, only payers that use less than 1/64 may buy; at the limit, no one may",
      ),
  }),
});

export type ResourceServerSettings = z.output<typeof resourceServerSettings.schema>;

/** Returns the environment variable of a setting. */
export function nameSetting(...path: readonly string[]): string {
  return toEnvironmentName(resourceServerSettings.service, path);
}
