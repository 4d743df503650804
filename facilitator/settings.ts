import { z } from "zod";
import { removedAuditLog } from "#daemon/audit/audit-log.ts";
import { connectionSettings, defineOperationsSettings, proxySettings } from "#daemon/http/settings.ts";
import { postgresSettings } from "#daemon/sql/postgres-settings.ts";
import { secret } from "#daemon/secrets/secret.ts";
import {
  address,
  bytes,
  filePath,
  host,
  milliseconds,
  port,
  positiveInteger,
  privateKey,
  yesOrNo,
} from "#daemon/settings/types.ts";
import { chain } from "./chain/settings.ts";
import { defineSettings, section } from "#daemon/settings/settings.ts";
import { stackServices } from "#daemon/stack-services.ts";

/** Keys of 16 to 256 visible characters, separated by white space or commas. */
const apiKeys = z
  .string()
  .regex(/^[\s,]*[!-+\--~]{16,256}([\s,]+[!-+\--~]{16,256})*[\s,]*$/)
  .meta({ expected: "keys of 16 to 256 visible characters without a comma, one a line or separated by commas" });

/** Accepted payment token: its contract, its EIP-712 domain (`name`, `version`; see EIP-3009), and the min amount in its smallest unit. */
const asset = z.strictObject({
  address,
  name: z.string().min(1),
  version: z.string().min(1),
  minAmount: z.int().min(1).optional(),
  nativePrice: z.int().min(1).optional(),
});

/** Limits of a seller, whose keys in `apiKeys` are written `<name>=<key>`. */
const seller = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/),
  payees: z.array(address).max(10_000).optional(),
  assets: z
    .array(z.strictObject({ address, minAmount: z.int().min(1).optional() }))
    .max(100)
    .optional(),
  verificationsPerMinute: positiveInteger.optional(),
  settlementsPerMinute: positiveInteger.optional(),
  gasPerDay: z.number().positive().max(1_000_000_000).optional(),
});

const listen = section({
  host: host.default("127.0.0.1").describe("Address of the HTTP listener"),
  port: port.default(stackServices.facilitator.ports.http).describe("Port of the HTTP listener"),
  bodyLimitBytes: bytes.default(65_536).describe("Max request body size; larger requests get 413"),
  requestTimeoutMs: milliseconds.default(10_000).describe("Timeout for receiving a request"),
  ...connectionSettings,
  trustedProxies: proxySettings.trustedProxies.describe(
    "Addresses of proxies in front of the facilitator; their connections carry many sellers, so per-address limits do not apply",
  ),
  proxyProtocol: proxySettings.proxyProtocol,
});

const settlement = section({
  receiptTimeoutMs: z
    .int()
    .min(100)
    .max(85_000)
    .default(45_000)
    .describe("How long /settle waits for the receipt before it returns settlement_pending; clients give up after 90 s")
    .meta({ expected: "milliseconds, a whole number from 100 to 85000" }),
  drainMs: milliseconds
    .default(3_000)
    .describe(
      "How long a shutdown waits for receipts before returning settlement_pending; must be less than shutdown.graceMs",
    ),
  pollIntervalMs: z
    .int()
    .min(10)
    .max(60_000)
    .default(100)
    .describe("Interval between chain polls while transactions are pending")
    .meta({ expected: "milliseconds, a whole number from 10 to 60000" }),
  confirmations: z
    .int()
    .min(1)
    .max(1_000)
    .default(1)
    .describe("Blocks, including the transaction's own, until a settlement is final")
    .meta({ expected: "a whole number from 1 to 1000" }),
  gasLimit: z
    .int()
    .min(60_000)
    .max(5_000_000)
    .default(200_000)
    .describe("Max gas per settlement; payments that need more are rejected")
    .meta({ expected: "units of gas, a whole number from 60000 to 5000000" }),
  gasMarginPercent: z
    .int()
    .min(0)
    .max(400)
    .default(20)
    .describe("Margin on top of the node's gas estimate for a settlement; the total never exceeds gasLimit")
    .meta({ expected: "per cent, a whole number from 0 to 400" }),
  maxFeePerGasGwei: z
    .number()
    .positive()
    .max(1_000_000)
    .default(500)
    .describe("Max fee the signer pays per unit of gas; settlements get 500 while the chain charges more")
    .meta({ expected: "gwei, a number above 0 and at most 1000000" }),
  bumpAfterMs: milliseconds
    .default(15_000)
    .describe("Age after which a pending transaction is replaced by one with a higher fee"),
  bumpPercent: z
    .int()
    .min(10)
    .max(1_000)
    .default(25)
    .describe("Fee increase for a replacement; nodes reject less than 10")
    .meta({ expected: "per cent, a whole number from 10 to 1000" }),
  inFlightMax: positiveInteger
    .max(10_000)
    .default(1_000)
    .describe("Max settlements in flight; further requests get 503"),
  batchMax: positiveInteger
    .max(500)
    .default(64)
    .describe(
      "Max settlements journaled and sent together, in one transaction if the chain has Multicall3; 1 sends each alone",
    ),
});

const verification = section({
  inFlightMax: positiveInteger
    .max(100_000)
    .default(1_000)
    .describe(
      "Max verifications in flight; further requests get 503. One seller (by API key, else by address) gets at most three quarters of them, less as others use more, and then gets 429",
    ),
});

/** Settings that most deployments set. */
const essentials = ["payees", "chain.rpcUrl", "chain.id"];

/** All settings of the facilitator. The signing key and at least one asset are required; everything else has a default. */
export const facilitatorSettings = defineSettings(
  "facilitator",
  essentials,
  {
    listen,
    operations: defineOperationsSettings({ port: stackServices.facilitator.ports.operations, nothing: "settled" }),
    chain,
    signer: section({
      privateKey: secret(privateKey).describe("Private key of the account that submits settlements and pays their gas"),
    }),
    assets: z
      .array(asset)
      .min(1)
      .max(100)
      .describe(
        "Accepted tokens; others are rejected, so that no hostile token burns the signer's gas. `minAmount`: min settlement amount, in the token's smallest unit. Default: the max cost of one settlement, converted with `nativePrice` (price of one unit of the native currency, in the token's smallest unit); without either 1, which is rejected beyond loopback without apiKeys",
      )
      .meta({ expected: 'a list of tokens, e.g. [{address: "0x…", name: "USDC", version: "2", minAmount: 1000}]' }),
    payees: z
      .array(address)
      .max(10_000)
      .default([])
      .describe("Allowed recipients; empty allows all")
      .meta({ expected: "a list of addresses" }),
    apiKeys: secret(apiKeys)
      .optional()
      .describe(
        "API keys for sellers that may call /verify and /settle, sent as `Authorization: Bearer` or `X-API-Key`; if unset, anyone may call them. `<name>=<key>` assigns a key to a seller in `sellers`",
      ),
    sellers: z
      .array(seller)
      .max(1_000)
      .refine((all) => new Set(all.map(({ name }) => name)).size === all.length)
      .default([])
      .describe(
        "Limits per seller name, all optional. `payees` and `assets` (with `minAmount` in the token's smallest unit) narrow what is settled for the seller. `verificationsPerMinute`, `settlementsPerMinute`: max calls; further calls get 429. `gasPerDay`: max settlement cost per UTC day, in the native currency",
      )
      .meta({
        expected:
          'a list of sellers, each name once, e.g. [{name: "alice", payees: ["0x…"], settlementsPerMinute: 60, gasPerDay: 0.5}]',
      }),
    openToAnybody: yesOrNo
      .default(false)
      .describe(
        "Allows listening beyond loopback without apiKeys and payees; the signer then pays gas for anyone's payments",
      ),
    ledger: section({
      path: filePath
        .optional()
        .describe(
          "SQLite file for settlements and their signed transactions; one process at a time may use it, or two during a hot restart. Default, without ledger.url: .gatehouse/facilitator.sqlite",
        ),
      ...postgresSettings,
      retentionDays: z
        .int()
        .min(1)
        .max(36_500)
        .default(90)
        .describe("Retention of finished settlements in the ledger")
        .meta({ expected: "days, a whole number from 1 to 36500" }),
      compareIntervalMs: z
        .int()
        .min(1_000)
        // GatehouseLedgerMismatch waits for five minutes, which must include several consistent checks.
        .max(75_000)
        .default(60_000)
        .describe("Interval between comparisons of the last hour's settlements with their on-chain receipts")
        .meta({ expected: "milliseconds, a whole number from 1000 to 75000" }),
    }),
    verification,
    settlement,
  },
  { auditLog: removedAuditLog },
);

/** Parsed settings of the facilitator. */
export type FacilitatorSettings = Readonly<z.output<typeof facilitatorSettings.schema>>;
