import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from "@x402/core/http";
import secp256k1 from "secp256k1";
import { tokenAddress } from "#devnet/token/address.ts";
import type { Hex } from "#x402/hex.ts";
import { computeAuthorizationDigest, computeDomainSeparator, encodeAuthorization } from "#x402/typed-data.ts";
import { testAccount } from "../../support/payments/payment-chain.ts";
import { startService } from "../../support/service-process.ts";

export type Seller = AsyncDisposable & Readonly<{ name: string; url: string; pid: number }>;

/** Name of the side that is compared with the other. */
export const own = "ours";

const payee = testAccount(2).address;
const startMain = (file: string, env: Readonly<Record<string, string>>) =>
  startService(new URL(file, import.meta.url).pathname, env, { program: process.execPath });

export async function startStubs(): Promise<AsyncDisposable & Readonly<{ url: string }>> {
  const service = await startMain("stub-services.main.ts", {});
  return { url: service.urls["stubs"] ?? "", [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

/** Starts our resource server with its default settings and a ledger in `folder`, in front of the stubs' upstream. */
export async function startOwnSeller(stubs: string, folder: string): Promise<Seller> {
  const routesPath = join(folder, "routes.json5");
  const accepts = { scheme: "exact", price: "0.01", network: "eip155:1672" };
  const sold = { accepts, description: "Data", mimeType: "application/json", upstream: `${stubs}/data` };
  await writeFile(routesPath, JSON.stringify({ "GET /data": sold }));
  const service = await startService("resource-server", {
    GATEHOUSE_RESOURCE_SERVER_LISTEN_PORT: "0",
    GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PORT: "0",
    GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: routesPath,
    GATEHOUSE_RESOURCE_SERVER_PAY_TO: payee,
    GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: tokenAddress,
    GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: stubs,
    GATEHOUSE_RESOURCE_SERVER_LEDGER_PATH: join(folder, "claims.sqlite"),
  });
  const url = service.urls["resource-server"] ?? "";
  return { name: own, url, pid: service.pid, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

/** Starts a seller that uses the published Express middleware, which has no ledger and no upstream. */
export async function startExpressSeller(stubs: string): Promise<Seller> {
  const env = { SELLER_FACILITATOR_URL: stubs, SELLER_TOKEN: tokenAddress, SELLER_PAY_TO: payee };
  const service = await startMain("express-seller.main.ts", env);
  const url = service.urls["seller"] ?? "";
  return { name: "@x402/express", url, pid: service.pid, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

/** Formats requests that pay a seller's offer, each signed separately, using native code because viem is slow. */
export async function signRequests(seller: Seller, count: number): Promise<readonly string[]> {
  const unpaidResponse = await fetch(`${seller.url}/data`);
  const { accepts } = decodePaymentRequiredHeader(unpaidResponse.headers.get("PAYMENT-REQUIRED") ?? "");
  const [accepted] = accepts;
  if (accepted === undefined) throw new Error(`${seller.name} returns no offer`);
  const { host } = new URL(seller.url);
  const address = accepted.asset as Hex;
  const separator = computeDomainSeparator({ address, name: "USDC", version: "2", chainId: 1_672 });
  const now = BigInt(Math.floor(Date.now() / 1_000));
  const { address: from, privateKey } = testAccount(1);
  return Array.from({ length: count }, () => {
    const signed = {
      from,
      to: accepted.payTo as Hex,
      value: BigInt(accepted.amount),
      validAfter: now - 600n,
      validBefore: now + BigInt(accepted.maxTimeoutSeconds),
      nonce: `0x${randomBytes(32).toString("hex")}` as const,
    };
    const digest = computeAuthorizationDigest(separator, encodeAuthorization(signed));
    const { signature, recid } = secp256k1.ecdsaSign(digest, Buffer.from(privateKey.slice(2), "hex"));
    const payload = {
      signature: `0x${Buffer.from(signature).toString("hex")}${(27 + recid).toString(16)}`,
      authorization: JSON.parse(
        JSON.stringify(signed, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
      ) as object,
    };
    const payment = encodePaymentSignatureHeader({ x402Version: 2, accepted, payload });
    return `GET /data HTTP/1.1\r\nHost: ${host}\r\nPAYMENT-SIGNATURE: ${payment}\r\n\r\n`;
  });
}
