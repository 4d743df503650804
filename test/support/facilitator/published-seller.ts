import { createServer, type RequestListener } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { decodePaymentRequiredHeader, encodePaymentSignatureHeader, HTTPFacilitatorClient } from "@x402/core/http";
import { x402ResourceServer, type RoutesConfig } from "@x402/core/server";
import type { PaymentRequirements } from "@x402/core/types";
import { ExactEvmScheme as ExactEvmClient } from "@x402/evm/exact/client";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware as expressMiddleware } from "@x402/express";
import { paymentMiddleware as honoMiddleware } from "@x402/hono";
import express from "express";
import { Hono } from "hono";
import type { Address } from "viem";
import { testAccount } from "../payments/payment-chain.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

export type PublishedSeller = AsyncDisposable &
  Readonly<{
    urlOf: (route: SoldRoute) => string;
    /** Signs a payment for a route, like a client after the 402: the PAYMENT-SIGNATURE header. */
    signPayment: (route: SoldRoute) => Promise<string>;
  }>;

/** The routes: `slow` responds later, and so settles later. */
export type SoldRoute = "/quick" | "/slow";

export type SellerOptions = Readonly<{
  framework: "hono" | "express";
  facilitatorUrl: string;
  token: Address;
  apiKey?: string;
  /** `upfront` settles before the work and verifies nothing. Default: the SDK's own order of verify, work, settle. */
  paymentFlow?: "upfront";
}>;

const routes = ["/quick", "/slow"] as const;
const workMs = { "/quick": 0, "/slow": 400 } as const;

export async function startPublishedSeller(options: SellerOptions): Promise<PublishedSeller> {
  const server = createServer(
    options.framework === "hono" ? createHonoListener(options) : createExpressListener(options),
  );
  const local = await listenLocally(server);
  const urlOf = (route: SoldRoute) => `${local.url}${route}`;
  return {
    urlOf,
    signPayment: async (route) => {
      const unpaidResponse = await fetch(urlOf(route));
      const { accepts } = decodePaymentRequiredHeader(unpaidResponse.headers.get("PAYMENT-REQUIRED") ?? "");
      const accepted = accepts[0] as PaymentRequirements;
      const { payload } = await new ExactEvmClient(testAccount(1).account).createPaymentPayload(2, accepted);
      return encodePaymentSignatureHeader({ x402Version: 2, accepted, payload });
    },
    [Symbol.asyncDispose]: local[Symbol.asyncDispose],
  };
}

export async function sendCopies(header: string, urls: readonly string[], copies: number): Promise<number> {
  const responses = Array.from({ length: copies }, async (_, index) => {
    const response = await fetch(urls[index % urls.length] ?? "", { headers: { "PAYMENT-SIGNATURE": header } });
    return (await response.text()) === "sold";
  });
  return (await Promise.all(responses)).filter(Boolean).length;
}

function createHonoListener(options: SellerOptions): RequestListener {
  const app = new Hono();
  app.use(honoMiddleware(buildRoutes(options), createResourceServer(options)));
  for (const route of routes) {
    app.get(route, async (c) => {
      await sleep(workMs[route]);
      return c.text("sold");
    });
  }
  const listener = getRequestListener(app.fetch);
  return (request, response) => void listener(request, response);
}

function createExpressListener(options: SellerOptions): RequestListener {
  const app = express();
  app.use(expressMiddleware(buildRoutes(options), createResourceServer(options)));
  for (const route of routes) {
    app.get(route, async (_request, response) => {
      await sleep(workMs[route]);
      response.type("text/plain").send("sold");
    });
  }
  return app;
}

function createResourceServer({ facilitatorUrl, apiKey }: SellerOptions): x402ResourceServer {
  const headers = { Authorization: `Bearer ${apiKey}` };
  const client = new HTTPFacilitatorClient({
    url: facilitatorUrl,
    ...(apiKey === undefined ? {} : { createAuthHeaders: async () => ({ verify: headers, settle: headers }) }),
  });
  return new x402ResourceServer(client).register("eip155:1672", new ExactEvmScheme());
}

function buildRoutes({ token, paymentFlow }: SellerOptions): RoutesConfig {
  const extra = { name: "USDC", version: "2", ...(paymentFlow === undefined ? {} : { paymentFlow }) };
  const accepts = {
    scheme: "exact",
    network: "eip155:1672",
    payTo: testAccount(2).address,
    price: { amount: "10000", asset: token, extra },
  } as const;
  return Object.fromEntries(routes.map((route) => [`GET ${route}`, { accepts, description: "sold" }]));
}
