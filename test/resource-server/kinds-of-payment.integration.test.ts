import { x402Client, wrapFetchWithPayment } from "@x402/fetch";
import { encodePaymentSignatureHeader } from "@x402/core/http";
import type { PaymentRequirements } from "@x402/core/types";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import { encodeFunctionData, erc20Abi, maxUint256 } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { plainTokenAddress } from "#devnet/contracts/addresses.ts";
import { canonicalContracts } from "#x402/contracts.ts";
import { openMarket, pay, payee, payer, readRequired, readSettlement, type Market } from "../support/payments/shop.ts";
import { testAccount } from "../support/payments/payment-chain.ts";

const plainToken = { address: plainTokenAddress, name: "Devnet Plain Token", version: "1", decimals: 18 };
const resources = new AsyncDisposableStack();
let market: Market;
let shopUrl: string;

beforeAll(async () => {
  market = resources.use(await openMarket());
  const offer = { price: "0.02", network: "eip155:1672" };
  const routes = {
    "GET /metered": { accepts: { ...offer, scheme: "upto" }, upstream: market.upstream.url },
    "GET /other-token": {
      accepts: {
        ...offer,
        price: "0.000000000000000002",
        scheme: "exact",
        assetTransferMethod: "permit2",
        asset: plainToken,
      },
      upstream: market.upstream.url,
    },
    "GET /permit2": {
      accepts: { ...offer, scheme: "exact", assetTransferMethod: "permit2" },
      upstream: market.upstream.url,
    },
  };
  ({ origin: shopUrl } = resources.use(await market.openOwnShop({}, { routes })));
  await until(
    "the seller has reached its facilitator",
    generousMs,
    async () => (await fetch(`${shopUrl}/metered`)).status === 402,
  );
  const args = [canonicalContracts.permit2.address, maxUint256] as const;
  const approval = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args });
  await market.chain.send(payer, market.chain.token, approval);
});
afterAll(() => resources.disposeAsync());

const signer = (account = payer) => ({
  address: account.address,
  signTypedData: (message: never) => account.account.signTypedData(message),
});
/** The published buyer, with both schemes. */
function buy(account = payer) {
  const client = new x402Client()
    .setSpendControls(false)
    .register("eip155:*", new ExactEvmScheme(signer(account)))
    .register("eip155:*", new UptoEvmScheme(signer(account)));
  return wrapFetchWithPayment(fetch, client);
}

test.each([
  ["1858", "1858", 1_858n],
  ["12.5%", "2500", 2_500n],
  ["$0.001", "1000", 1_000n],
  [undefined, "20000", 20_000n],
  ["0", "0", 0n],
])("upto charges the upstream's used amount: %s", async (used, amount, paid) => {
  market.upstream.behave(
    "data",
    used === undefined ? {} : { "Settlement-Overrides": JSON.stringify({ amount: used }) },
  );
  const balanceBefore = await market.chain.balanceOf(payee.address);
  const response = await buy()(`${shopUrl}/metered`);
  expect(response.status).toBe(200);
  expect(response.headers.get("Settlement-Overrides")).toBeNull();
  expect(readSettlement(response)).toMatchObject({ success: true, amount });
  expect((await market.chain.balanceOf(payee.address)) - balanceBefore).toBe(paid);
});

test.each(["20001", "101%", "-1", "much"])("returns 502 uncharged if the upstream used %s of 20000", async (used) => {
  market.upstream.behave("data", { "Settlement-Overrides": JSON.stringify({ amount: used }) });
  const balanceBefore = await market.chain.balanceOf(payee.address);
  const response = await buy()(`${shopUrl}/metered`);
  expect(response.status).toBe(502);
  expect(await response.json()).toEqual({ error: expect.stringContaining("you were not charged") });
  expect(await market.chain.balanceOf(payee.address)).toBe(balanceBefore);
});

test("offers a route in its own token with the token's decimals", async () => {
  const { accepts } = readRequired(await fetch(`${shopUrl}/other-token`));
  expect(accepts).toMatchObject([
    { asset: plainTokenAddress, amount: "2", extra: { name: plainToken.name, decimals: 18 } },
  ]);
});

test("sells by Permit2, and returns 412 with the offers without a Permit2 approval", async () => {
  market.upstream.behave("data");
  const response = await buy()(`${shopUrl}/permit2`);
  expect([response.status, readSettlement(response).success]).toEqual([200, true]);
  const { accepts, extensions } = readRequired(await fetch(`${shopUrl}/permit2`));
  expect(extensions).toHaveProperty("eip2612GasSponsoring.info.version", "1");
  const [accepted] = accepts as [PaymentRequirements];
  const createdPayload = await new ExactEvmScheme(signer(testAccount(3))).createPaymentPayload(2, accepted);
  const header = encodePaymentSignatureHeader({ accepted, ...createdPayload } as never);
  const rejectedResponse = await pay(`${shopUrl}/permit2`, header);
  expect([rejectedResponse.status, readRequired(rejectedResponse).error]).toEqual([412, "permit2_allowance_required"]);
});
