import { hash } from "node:crypto";
import secp256k1 from "secp256k1";
import { computeAddress } from "#facilitator/chain/transaction-signer.ts";
import type { Hex } from "#x402/hex.ts";

/** Start time of every run, so that runs share signed payments. */
export const startMs = 1_800_000_000_000;

export const chainIds = [31_337, 31_338] as const;
/** Token of each chain: EIP-3009 with EIP-2612. */
export const token = { address: `0x${"a5".repeat(20)}`, name: "USDC", version: "2" } as const;
export const payTo: Hex = `0x${"02".repeat(20)}`;
export const stranger: Hex = `0x${"03".repeat(20)}`;
/** Price of `exact`, and the maximum of `upto`. */
export const price = 1_000n;

/** How a payment moves tokens; `upto` can also use Permit2. */
export const methods = ["eip3009", "permit2", "upto"] as const;

/** Buyer whose account is a contract: the key is its owner's. */
export const contractWallet = { name: "contract", address: `0x${"c0".repeat(20)}` } as const;

type Account = Readonly<{ key: Buffer; address: Hex }>;
const accounts = new Map<string, Account>();

export function getAccount(name: string): Account {
  const key = hash("sha256", name, "buffer");
  const isContract = name === contractWallet.name;
  const create = () => (isContract ? contractWallet.address : computeAddress(secp256k1.publicKeyCreate(key, false)));
  const account = accounts.get(name) ?? { key, address: create() };
  accounts.set(name, account);
  return account;
}

/** Signs claims and refunds for the seller. */
export const { key: authorizerKey, address: authorizerAddress } = getAccount("receivers' authorizer");
/** Seconds that the seller has to claim when a buyer withdraws. */
export const withdrawDelay = 900;

/** Accounts that settle, of which a run has some. */
export const signers = [0, 1, 2].map((index) => getAccount(`signer ${index}`));

/** Buyers that have not approved Permit2 and buy once. */
export const newcomers = Array.from({ length: 24 }, (_, index) => `newcomer ${index}`);
/**
 * Buyers, by their funds: sufficient, enough for one payment and a half, and none. The last one buys only at the end.
 */
const held = new Map([
  ["rich", 10n ** 9n],
  ["rich too", 10n ** 9n],
  ["tight", (price * 3n) / 2n],
  ["empty", 0n],
  ["late", 10n ** 9n],
  [contractWallet.name, 10n ** 9n],
  ...newcomers.map((name) => [name, price] as const),
]);
export const hasApproved = (wallet: string) => wallet !== "rich too" && !newcomers.includes(wallet);

const digitsOf = (wallet: string) => getAccount(wallet).address.slice(2).toLowerCase();
/** Token balances, by address without the prefix 0x. */
export const balances: ReadonlyMap<string, bigint> = new Map([...held].map(([name, units]) => [digitsOf(name), units]));
/** Amounts that Permit2 may move, by address without prefix. */
export const allowances: ReadonlyMap<string, bigint> = new Map(
  [...held.keys()].filter(hasApproved).map((name) => [digitsOf(name), 2n ** 200n]),
);
