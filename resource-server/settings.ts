import { removedAuditLog } from "#daemon/audit/audit-log.ts";
import { defineSettings, section } from "#daemon/settings/settings.ts";
import { defineOperationsSettings, connectionSettings, proxySettings } from "#daemon/http/settings.ts";
import { postgresSettings } from "#daemon/sql/postgres-settings.ts";
import { secret } from "#daemon/secrets/secret.ts";
import { stackServices } from "#daemon/stack-services.ts";
import {
  address,
  bytes,
  chainId,
  filePath,
  host,
  httpUrl,
  milliseconds,
  nonNegativeInteger,
  port,
  positiveInteger,
  privateKey,
  seconds,
} from "#daemon/settings/types.ts";
import { z } from "zod";

/** Settings that most deployments set. */
const essentials = ["facilitator.url", "chain.id", "publicUrl"];

/**
 * Settings of the resource server (specification, "x402 route protection configuration"). With `facilitator.url`, payments are verified and
 * settled there; without it, in this process, and all of `settlement` is then required.
 */
export const resourceServerSettings = defineSettings(
  "resource-server",
  essentials,
  {
    listen: section({
      host: host.default("127.0.0.1").describe("Address that the resource server listens on"),
      port: port
        .default(stackServices["resource-server"].ports.http)
        .describe("Port that the resource server listens on"),
      requestTimeoutMs: milliseconds.default(30_000).describe("How long a client may take to send a whole request"),
      bodyLimitBytes: bytes.default(1_048_576).describe("Largest request body that is read and forwarded"),
      ...connectionSettings,
      ...proxySettings,
    }),
    operations: defineOperationsSettings({ port: stackServices["resource-server"].ports.operations, nothing: "sold" }),
    publicUrl: httpUrl
      .optional()
      .describe(
        "URL under which clients reach the server; payment instructions name it. Default: what the client requested",
      ),
    routesPath: filePath.describe(
      "JSON5 file of the routes that are sold, keyed by `<METHOD> <path>`; takes effect as it changes",
    ),
    payTo: address.describe("Account that is paid where a route names no other (specification: recipient address)"),
    chain: section({
      id: chainId.default(1672).describe("EIP-155 id of the chain that payments are made on"),
    }),
    token: section({
      address: address.describe("Contract of the EIP-3009 token with 6 decimals that prices are charged in"),
      name: z
        .string()
        .min(1)
        .default("USDC")
        .describe("Name of the token in its EIP-712 domain")
        .meta({ expected: "the token's name, not empty" }),
      version: z
        .string()
        .min(1)
        .default("2")
        .describe("Version of the token in its EIP-712 domain; wallets sign it, the contract checks it")
        .meta({ expected: "the token's version, not empty" }),
    }),
    facilitator: section({
      url: httpUrl.optional().describe("Facilitator that verifies and settles; absent: this process does it itself"),
      apiKey: secret(z.string().regex(/^[!-+\--~]{16,256}$/))
        .optional()
        .describe("Key that the facilitator knows this server by, where it requests one (its setting `apiKeys`)")
        .meta({ expected: "a key of 16 to 256 visible characters without a comma" }),
      verifyTimeoutMs: milliseconds.default(10_000).describe("How long a verification may take"),
      settleTimeoutMs: milliseconds.default(60_000).describe("How long a request waits for its settlement"),
    }),
    settlement: section({
      privateKey: secret(privateKey)
        .optional()
        .describe("Key that pays for settlement when there is no facilitator URL"),
      rpcUrl: httpUrl.optional().describe("JSON-RPC endpoint of the chain when there is no facilitator URL"),
      rpcTimeoutMs: milliseconds.default(30_000).describe("How long one call of the chain's JSON-RPC may take"),
      ledgerPath: filePath
        .default(".gatehouse/resource-server/settlement.sqlite")
        .describe(
          "SQLite file of the settlements under way when there is no facilitator URL; with ledger.url they are kept there",
        ),
    }),
    payment: section({
      validitySeconds: seconds
        .default(300)
        .describe("How long an authorization may be valid that a client signs (`maxTimeoutSeconds`)"),
      formerOfferMs: nonNegativeInteger
        .max(3_600_000)
        .default(60_000)
        .describe(
          "How long a payment may accept an offer that a changed routes file makes no more, where the route still pays that account and gives the same; in milliseconds",
        ),
      inFlightMax: positiveInteger
        .default(256)
        .describe(
          "Payments that are worked on, or whose response is being delivered, at one time; more are answered 503. The clients of one address (IPv6: /64) have three quarters of them at most, and fewer the more others have; the verdict of half of them at most may be awaited",
        ),
      deliveryTimeoutMs: milliseconds
        .default(120_000)
        .describe("How long a client may take to receive a response that it bought; the same payment gets it again"),
      resumeIntervalMs: milliseconds
        .default(2_000)
        .describe("Pause between two looks for settlements whose outcome is not known yet"),
    }),
    accessTokens: section({
      privateKey: secret(
        z.string().min(1).max(8_192).meta({ expected: "a private key in PEM (PKCS #8), P-256 or Ed25519" }),
      )
        .optional()
        .describe("Key that signs the tokens of routes that sell access to a tier of the gateway"),
      issuer: z.string().min(1).optional().describe("Issuer that tokens name").meta({ expected: "a token issuer" }),
      audience: z
        .string()
        .min(1)
        .optional()
        .describe("Audience that tokens name")
        .meta({ expected: "a token audience" }),
    }),
    upstream: section({
      timeoutMs: milliseconds.default(30_000).describe("How long an upstream may take for its whole response"),
      responseLimitBytes: bytes.default(8_388_608).describe("Largest response of an upstream that is sold"),
    }),
    memory: section({
      totalBytes: bytes
        .optional()
        .describe(
          "Bytes of request bodies and responses held for all clients, half of it for those of one address; default: a quarter of the memory that the process may use or a quarter of its heap's limit, whichever is less, at most 1 GiB. Never less than listen.bodyLimitBytes and upstream.responseLimitBytes together",
        ),
    }),
    ledger: section({
      path: filePath
        .optional()
        .describe(
          "SQLite file of the payments that were claimed, with the responses that were not delivered yet; one process at a time, or the two of a hand-over. " +
            "Default, without ledger.url: .gatehouse/resource-server/claims.sqlite",
        ),
      ...postgresSettings,
      retentionSeconds: seconds
        .default(86_400)
        .describe(
          "How long a finished payment and an undelivered response are kept; a delivered one is kept until its payment expires",
        ),
      responseBytes: bytes
        .default(1_073_741_824)
        .describe(
          "Bytes of responses that are kept: beyond three quarters the oldest delivered ones are forgotten, then undelivered ones of expired payments; while others fill these, only payers with less than a 64th are sold to, and nobody beyond all of it",
        ),
    }),
  },
  { auditLog: removedAuditLog },
);

/** Parsed {@link resourceServerSettings}. */
export type ResourceServerSettings = z.output<typeof resourceServerSettings.schema>;
