import { z } from "zod";
import { listExactAmounts } from "#resource-server/routes/route.ts";
import { stackServices } from "../stack-services.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { devAccounts } from "./node/dev-accounts.ts";
import { sellsSample } from "./optional-services.ts";
import type { Addresses } from "./stack-context.ts";

/** Paid routes, keyed by `<METHOD> <path>` (specification, "x402 route protection configuration"). */
export type Routes = Readonly<Record<string, unknown>>;

/**
 * An EIP-3009 token that is accepted for payments: its contract, its EIP-712 domain, and the min amount that is settled, in its smallest
 * unit; or, instead of the min amount, the price of one unit of the native currency, from which the facilitator computes it.
 */
export type Token = Readonly<{
  address: string;
  name: string;
  version: string;
  minAmount?: number;
  nativePrice?: number;
}>;

/** Returns the token of a stack's prices; undefined if none is configured, which preflight rejects. */
export function findToken({ tokenAddress, tokenName, tokenVersion }: StackConfig): Token | undefined {
  return tokenAddress === undefined ? undefined : { address: tokenAddress, name: tokenName, version: tokenVersion };
}

export function findPayTo(config: StackConfig): string | undefined {
  return config.payTo ?? (config.devAccounts ? devAccounts.payee.address : undefined);
}

export function findRoutes(config: StackConfig, addresses: Addresses): Routes {
  if (!sellsSample(config)) return config.routes;
  const offer = { scheme: "exact", network: `eip155:${config.chainId}`, payTo: findPayTo(config) };
  const upstream = `http://${addresses.upstream}:${stackServices.upstream.ports.http}`;
  return {
    "POST /access": {
      accepts: { ...offer, price: "$0.05" },
      description: "An hour of the gateway's paid tier",
      mimeType: "application/json",
      token: { tier: "paid", seconds: 3_600 },
    },
    "GET /data": {
      accepts: { ...offer, price: "$0.01" },
      description: "A sample document that counts how often it was sold",
      mimeType: "application/json",
      upstream: `${upstream}/data`,
    },
    "GET /api/info": {
      accepts: { ...offer, price: "$0.01" },
      description: "Contents of the sample upstream",
      mimeType: "application/json",
      upstream: `${upstream}/api/info`,
    },
  };
}

const offer = z.object({ payTo: z.string().optional() });
const offering = z.object({ accepts: z.union([z.array(offer), offer]) });

/**
 * Lists the accounts to which a stack's resource server may be paid: its `payTo`, and the overrides in individual offers of its routes.
 * Skips malformed routes; the resource server's own schema rejects them.
 */
export function listPayees(payTo: string | undefined, routes: Routes): readonly string[] {
  const named = Object.values(routes).flatMap((route) => {
    const parsed = offering.safeParse(route);
    return parsed.success ? [parsed.data.accepts].flat().map((accepted) => accepted.payTo ?? payTo) : [];
  });
  const accounts = [payTo, ...named].filter((account) => account !== undefined);
  return [...new Map(accounts.map((account) => [account.toLowerCase(), account])).values()];
}

/**
 * Returns the min amount of a chain's token that a facilitator should settle for the routes, in the token's smallest unit: their lowest
 * exact price, rounded down to a power of ten, so that most price changes don't affect the facilitator. Undefined if no route has an exact
 * price in the token.
 */
export function computeMinAmount(routes: Routes, chainId: number, token: string): number | undefined {
  const amounts = listExactAmounts(routes, { network: `eip155:${chainId}`, address: token });
  if (amounts.length === 0) return undefined;
  const digits = Math.min(...amounts.map((amount) => amount.length));
  return Math.min(Number("1".padEnd(digits, "0")), Number.MAX_SAFE_INTEGER);
}
