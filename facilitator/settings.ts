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
  bodyLimitBytes: bytes.default(65_536).describe("Largest request body; a larger one is answered 413"),
  requestTimeoutMs: milliseconds.default(10_000).describe("How long a client may take to send a request"),
  ...connectionSettings,
  trustedProxies: proxySettings.trustedProxies.describe(
    "Addresses of the proxies before the facilitator: their connections are many sellers', and not bounded by address",
  ),
  proxyProtocol: proxySettings.proxyProtocol,
});

const settlement = section({
  receiptTimeoutMs: z
    .int()
    .min(100)
    .max(85_000)
    .default(45_000)
    .describe("How long /settle waits for the receipt before it answers settlement_pending; clients give up after 90 s")
    .meta({ expected: "milliseconds, a whole number from 100 to 85000" }),
  drainMs: milliseconds
    .default(3_000)
    .describe("How long a stop waits for receipts before it answers settlement_pending; less than shutdown.graceMs"),
  pollIntervalMs: z
    .int()
    .min(10)
    .max(60_000)
    .default(100)
    .describe("Time between two looks at the chain while transactions are pending")
    .meta({ expected: "milliseconds, a whole number from 10 to 60000" }),
  confirmations: z
    .int()
    .min(1)
    .max(1_000)
    .default(1)
    .describe("Blocks, with the transaction's own, that make a settlement final")
    .meta({ expected: "a whole number from 1 to 1000" }),
  gasLimit: z
    .int()
    .min(60_000)
    .max(5_000_000)
    .default(200_000)
    .describe("Most gas that one settlement may use; a payment that needs more is refused")
    .meta({ expected: "units of gas, a whole number from 60000 to 5000000" }),
  gasMarginPercent: z
    .int()
    .min(0)
    .max(400)
    .default(20)
    .describe(
      "Gas that a settlement's transaction gets beyond what the node estimates; never more than gasLimit in all",
    )
    .meta({ expected: "per cent, a whole number from 0 to 400" }),
  maxFeePerGasGwei: z
    .number()
    .positive()
    .max(1_000_000)
    .default(500)
    .describe(
      "Most that the signer pays for one unit of gas; settlements are answered 500 while the chain charges more",
    )
    .meta({ expected: "gwei, a number above 0 and at most 1000000" }),
  bumpAfterMs: milliseconds
    .default(15_000)
    .describe("Age at which a pending transaction is replaced by one with a higher fee"),
  bumpPercent: z
    .int()
    .min(10)
    .max(1_000)
    .default(25)
    .describe("By how much a replacement raises the fee; nodes refuse less than 10")
    .meta({ expected: "per cent, a whole number from 10 to 1000" }),
  inFlightMax: positiveInteger.max(10_000).default(1_000).describe("Most settlements under way; more are answered 503"),
  batchMax: positiveInteger
    .max(500)
    .default(64)
    .describe(
      "Most settlements that are journalled and sent together, in one transaction where the chain has Multicall3; 1 sends each alone",
    ),
});

const verification = section({
  inFlightMax: positiveInteger
    .max(100_000)
    .default(1_000)
    .describe(
      "Most verifications under way; more are answered 503. One seller (by API key, else by address) has three quarters of them at most, and fewer the more others have; beyond that it is answered 429",
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
      privateKey: secret(privateKey).describe("Key of the account that submits settlements and pays for their gas"),
    }),
    assets: z
      .array(asset)
      .min(1)
      .max(100)
      .describe(
        "Tokens that payments may be made in; any other is rejected, so that no hostile token burns the signer's gas. `minAmount`: the least amount that is settled, in the token's smallest unit. Default: what one settlement may cost, by `nativePrice` (one unit of the native currency, in that unit); without either 1, which is not enough beyond loopback without apiKeys",
      )
      .meta({ expected: 'a list of tokens, e.g. [{address: "0x…", name: "USDC", version: "2", minAmount: 1000}]' }),
    payees: z
      .array(address)
      .max(10_000)
      .default([])
      .describe("Recipients that are served; an empty list serves all")
      .meta({ expected: "a list of addresses" }),
    apiKeys: secret(apiKeys)
      .optional()
      .describe(
        "Keys of the sellers that may call /verify and /settle, in `Authorization: Bearer` or `X-API-Key`; without it everybody may. `<name>=<key>` is a key of a seller of `sellers`",
      ),
    sellers: z
      .array(seller)
      .max(1_000)
      .refine((all) => new Set(all.map(({ name }) => name)).size === all.length)
      .default([])
      .describe(
        "Limits of sellers by name; each may be left out. `payees` and `assets` (with `minAmount` in the token's smallest unit): what is settled for it, among what the facilitator settles. `verificationsPerMinute`, `settlementsPerMinute`: calls, beyond which it is answered 429. `gasPerDay`: what its settlements may cost in a day (UTC), in the native currency",
      )
      .meta({
        expected:
          'a list of sellers, each name once, e.g. [{name: "alice", payees: ["0x…"], settlementsPerMinute: 60, gasPerDay: 0.5}]',
      }),
    openToAnybody: yesOrNo
      .default(false)
      .describe(
        "Listens beyond loopback without apiKeys and payees: the signer pays the gas of anybody's payments then",
      ),
    ledger: section({
      path: filePath
        .optional()
        .describe(
          "SQLite file with every settlement and its signed transactions; one process at a time may use it, or the two of a hand-over. " +
            "Default, without ledger.url: .gatehouse/facilitator.sqlite",
        ),
      ...postgresSettings,
      retentionDays: z
        .int()
        .min(1)
        .max(36_500)
        .default(90)
        .describe("How long finished settlements stay in the ledger")
        .meta({ expected: "days, a whole number from 1 to 36500" }),
      compareIntervalMs: z
        .int()
        .min(1_000)
        // GatehouseLedgerMismatch waits for five minutes, which must include several consistent checks.
        .max(75_000)
        .default(60_000)
        .describe("Time between two comparisons of the last hour's settlements with their receipts on the chain")
        .meta({ expected: "milliseconds, a whole number from 1000 to 75000" }),
    }),
    verification,
    settlement,
  },
  { auditLog: removedAuditLog },
);

/** Parsed settings of the facilitator. */
export type FacilitatorSettings = Readonly<z.output<typeof facilitatorSettings.schema>>;
