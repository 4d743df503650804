import { decodePaymentRequiredHeader } from "@x402/core/http";
import { createPublicClient, createWalletClient, erc20Abi, http, type Abi, type Address, type Hex } from "viem";
import { afterAll, beforeAll, expect, it } from "vitest";
import { compileToken, readTokenSource } from "#devnet/token/compiler.ts";
import { testAccount } from "../support/payments/payment-chain.ts";
import {
  openMarket,
  payee,
  payer,
  signPaymentFor,
  createTemporaryFolder,
  findUrl,
  type Market,
} from "../support/payments/shop.ts";

let market: Market;
beforeAll(async () => {
  market = await openMarket();
});
afterAll(() => market?.[Symbol.asyncDispose]());

/** Deploys a token whose EIP-712 domain has another version than the devnet's. */
async function deployVersion(version: string): Promise<Address> {
  const token = compileToken(readTokenSource().replace('EIP712("USDC", "2")', `EIP712("USDC", "${version}")`));
  const transport = http(market.chain.url);
  const hash = await createWalletClient({ account: testAccount(4).account, transport }).deployContract({
    abi: token.abi as Abi,
    bytecode: token.bytecode as Hex,
    args: [[payer.address], 1_000_000n],
    chain: null,
  });
  const reader = createPublicClient({ transport, pollingInterval: 100 });
  const { contractAddress } = await reader.waitForTransactionReceipt({ hash });
  return contractAddress as Address;
}

it("sells in a token whose domain has another version than 2", async () => {
  const token = await deployVersion("1");
  await using state = await createTemporaryFolder();
  await using shop = await market.openShop(state.path, {
    GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: token,
    GATEHOUSE_RESOURCE_SERVER_TOKEN_VERSION: "1",
    GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: "",
    GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY: testAccount(3).privateKey,
    GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_RPC_URL: market.chain.url,
    GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_LEDGER_PATH: `${state.path}/settlement.sqlite`,
  });
  const url = `${findUrl(shop)}/data`;
  const unpaid = await fetch(url);
  const { accepts } = decodePaymentRequiredHeader(unpaid.headers.get("PAYMENT-REQUIRED") ?? "");
  expect(accepts[0]).toMatchObject({ asset: token, extra: { name: "USDC", version: "1" } });

  market.upstream.behave("data");
  const response = await fetch(url, { headers: { "PAYMENT-SIGNATURE": await signPaymentFor(url) } });
  expect(response.status, await response.text()).toBe(200);
  const reader = createPublicClient({ transport: http(market.chain.url) });
  const args = [payee.address] as const;
  expect(await reader.readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args })).toBe(10_000n);
});
