import type { AddressInfo } from "node:net";
import { HTTPFacilitatorClient } from "@x402/core/http";
import { x402ResourceServer } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware } from "@x402/express";
import express from "express";

/** The published Express middleware, as in its documentation, in front of a handler that responds at once. */
const { SELLER_FACILITATOR_URL: url = "", SELLER_TOKEN: asset = "", SELLER_PAY_TO: payTo = "" } = process.env;
const price = { amount: "10000", asset, extra: { name: "USDC", version: "2" } };
const accepts = { scheme: "exact", network: "eip155:1672", payTo, price } as const;
const seller = new x402ResourceServer(new HTTPFacilitatorClient({ url })).register("eip155:1672", new ExactEvmScheme());
const app = express();
app.use(paymentMiddleware({ "GET /data": { accepts, description: "Data", mimeType: "application/json" } }, seller));
app.get("/data", (_request, response) => void response.json({ sold: true, data: "x".repeat(100) }));
const server = app.listen(0, "127.0.0.1", () => {
  process.send?.({ type: "ready", urls: { seller: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } });
});
process.once("SIGTERM", () => process.exit(0));
process.once("disconnect", () => process.exit(0));
