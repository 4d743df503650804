import { z } from "zod";
import { connectionSettings, connectionsMax, defineOperationsSettings, proxySettings } from "#daemon/http/settings.ts";
import { secret } from "#daemon/secrets/secret.ts";
import { chainId, host, port, positiveInteger, privateKeys, yesOrNo } from "#daemon/settings/types.ts";
import { address } from "#x402/address.ts";
import { chain, networkChainSchema } from "./chain/settings.ts";
import { ledger, networkSettlement, settlement } from "./settlement/settings.ts";
import { section, fixed } from "#daemon/settings/section.ts";
import { defineSettings } from "#daemon/settings/settings.ts";
import { defaultPorts } from "#daemon/default-ports.ts";

/** Keys of 16 to 256 visible characters, separated by white space or commas. */
const apiKeys = z
  .string()
  .regex(/^[\s,]*[!-+\--~]{16,256}([\s,]+[!-+\--~]{16,256})*[\s,]*$/)
  .meta({ expected: "keys of 16 to 256 visible characters without commas, one per line or separated by commas" });

/** Accepted payment token: its contract, its EIP-712 domain (`name`, `version`; see EIP-3009), and the min amount in its smallest unit. */
const asset = z.strictObject({
  address,
  name: z.string().min(1),
  version: z.string().min(1),
  minAmount: z.int().min(1).optional(),
  nativePrice: z.int().min(1).optional(),
});

/** Whether one smallest unit of a token would be settled, because nothing sets a min amount. */
export function allowsZero({
  minAmount,
  nativePrice,
}: Pick<z.output<typeof asset>, "minAmount" | "nativePrice">): boolean {
  return minAmount === undefined && nativePrice === undefined;
}

const assets = z.array(asset).min(1).max(100);
const payees = z.array(address).max(10_000);

const networksMax = 32;

const network = z.strictObject({
  chain: networkChainSchema,
  assets,
  payees: payees.optional(),
  settlement: networkSettlement.optional(),
});

const sellerLimits = {
  payees: payees.optional(),
  assets: z
    .array(z.strictObject({ address, minAmount: z.int().min(1).optional() }))
    .max(100)
    .optional(),
  gasPerDay: z.number().positive().max(1_000_000_000).optional(),
};

/** Limits of a seller, whose keys in `apiKeys` are written `<name>=<key>`. */
const seller = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/),
  ...sellerLimits,
  verificationsPerMinute: positiveInteger.optional(),
  settlementsPerMinute: positiveInteger.optional(),
  networks: z
    .array(z.strictObject({ id: chainId, ...sellerLimits }))
    .max(networksMax)
    .optional(),
});

const listen = section({
  host: host.default("127.0.0.1").describe("Address of the HTTP listener"),
  port: port.default(defaultPorts.facilitator.http).describe("Port of the HTTP listener"),
  bodyLimitBytes: fixed(65_536),
  requestTimeoutMs: fixed(10_000),
  ...connectionSettings,
  connections: fixed(connectionsMax),
  trustedProxies: proxySettings.trustedProxies.describe(
    "Addresses of proxies in front of the facilitator; their connections carry many sellers, so per-address limits do not apply",
  ),
  proxyProtocol: proxySettings.proxyProtocol,
});

const verification = section({
  inFlightMax: fixed(1_000),
});

const commonSettings = ["signer.privateKey", "payees", "chain.rpcUrl", "chain.id"];

/** All settings of the facilitator. A signing key and at least one asset are required; everything else has a default. */
export const facilitatorSettings = defineSettings("facilitator", commonSettings, {
  listen,
  operations: defineOperationsSettings({ port: defaultPorts.facilitator.operations, nothing: "settled" }),
  chain,
  signer: section({
    privateKey: privateKeys
      .optional()
      .describe(
        "Private keys of the accounts that submit settlements and pay their gas. Each account has its own queue, and a settlement goes to the shortest",
      ),
    command: z
      .array(z.string().min(1))
      .min(1)
      .transform(([first = "", ...rest]): [string, ...string[]] => [first, ...rest])
      .optional()
      .describe("Program and its arguments that prints private keys, one per line; run once at start, without a shell")
      .meta({ expected: 'a program and its arguments, e.g. ["vault", "kv", "get", "-field=key", "secret/signer"]' }),
    kmsKeys: z
      .array(z.string().min(1).max(2_048))
      .max(32)
      .default([])
      .describe(
        "Keys of AWS KMS that sign (ECC_SECG_P256K1, SIGN_VERIFY), by id, ARN or alias; region and credentials come from AWS's own variables and files. Needs the npm package @aws-sdk/client-kms",
      )
      .meta({ expected: "up to 32 ids, ARNs or aliases of keys" }),
  }).refine(
    ({ privateKey, command, kmsKeys }) => privateKey !== undefined || command !== undefined || kmsKeys.length > 0,
    { path: ["privateKey"] },
  ),
  assets: assets
    .describe(
      "Accepted tokens; others are rejected, so that no hostile token burns the signer's gas. `minAmount`: min settlement amount, in the token's smallest unit. Default: the max cost of one settlement, converted with `nativePrice` (price of one unit of the native currency, in the token's smallest unit); without either, 1, which is rejected beyond loopback without apiKeys",
    )
    .meta({ expected: 'a list of tokens, e.g. [{address: "0x…", name: "USDC", version: "2", minAmount: 1000}]' }),
  payees: payees.default([]).describe("Allowed recipients; empty allows all").meta({ expected: "a list of addresses" }),
  networks: z
    .array(network)
    .max(networksMax)
    .default([])
    .describe(
      "Additional networks, each with its own `chain` (`id` and `rpcUrl` required), `assets`, `payees` (default: those above) and, where it differs from above, `settlement` (confirmations, gasLimit, gasMarginPercent, maxFeePerGasGwei, bumpAfterMs)",
    )
    .meta({
      expected:
        'a list of networks, e.g. [{chain: {id: 8453, rpcUrl: "https://…"}, assets: [{address: "0x…", name: "USD Coin", version: "2"}]}]',
    }),
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
      "Limits per seller name, all optional. `payees` and `assets` (with `minAmount` in the token's smallest unit) narrow what is settled for the seller. `verificationsPerMinute`, `settlementsPerMinute`: max calls; further calls get 429. `gasPerDay`: max settlement cost in 24 hours, in the native currency. `payees`, `assets` and `gasPerDay` apply on chain.id; `networks` lists the additional networks that the seller may use, each with limits of its own (`id`, `assets`, `gasPerDay`, and `payees`, by default the same)",
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
  ledger,
  verification,
  settlement,
});

export type FacilitatorSettings = Readonly<z.output<typeof facilitatorSettings.schema>>;
