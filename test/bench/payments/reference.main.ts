import type { AddressInfo } from "node:net";
import { x402Facilitator } from "@x402/core/facilitator";
import { toFacilitatorEvmSigner } from "@x402/evm";
import { ExactEvmScheme } from "@x402/evm/exact/facilitator";
import express, { type Request, type Response } from "express";
import { createWalletClient, defineChain, http, nonceManager, publicActions, type Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { PaymentBody } from "../../support/facilitator/signed-payment.ts";

/**
 * The published reference facilitator on express, as in its own example, with viem's nonce manager, without which most
 * concurrent settlements fail. Its hooks do nothing. The chain's block time makes viem poll twice per second instead of
 * every four seconds.
 */
const { REFERENCE_RPC_URL: rpcUrl = "", REFERENCE_PRIVATE_KEY: privateKey = "" } = process.env;
const account = privateKeyToAccount(privateKey as Hex, { nonceManager });
const chain = defineChain({
  id: 1_672,
  name: "benchmark",
  blockTime: 1_000,
  nativeCurrency: { name: "native", symbol: "N", decimals: 18 },
  rpcUrls: { default: { http: [rpcUrl] } },
});
const client = createWalletClient({ account, chain, transport: http(rpcUrl, { timeout: 60_000 }) }).extend(
  publicActions,
);
const signer = toFacilitatorEvmSigner({ ...client, address: account.address } as unknown as Parameters<
  typeof toFacilitatorEvmSigner
>[0]);
const facilitator = new x402Facilitator().register("eip155:1672", new ExactEvmScheme(signer));

const app = express();
app.use(express.json());
for (const operation of ["verify", "settle"] as const) {
  app.post(`/${operation}`, async (request: Request, response: Response) => {
    const { paymentPayload, paymentRequirements } = request.body as PaymentBody;
    try {
      response.json(await facilitator[operation](paymentPayload, paymentRequirements));
    } catch (error) {
      response.status(500).json({ error: String(error) });
    }
  });
}
const server = app.listen(0, "127.0.0.1", () => {
  process.send?.({
    type: "ready",
    urls: { facilitator: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
  });
});
process.once("disconnect", () => process.exit(0));
