import { createPublicClient, createWalletClient, erc20Abi, http, type Abi, type Address, type Hex } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { compileToken, readTokenSource } from "#devnet/contracts/compiler.ts";
import { testAccount } from "../support/payments/payment-chain.ts";
import { openMarket, pay, payee, payer, readRequired, signPaymentFor, type Market } from "../support/payments/shop.ts";

/** The devnet's token, with its version and decimals as arguments. */
const token = compileToken(
  readTokenSource()
    .replace("uint256 amount)", "uint256 amount, string memory version_, uint8 places)")
    .replace('EIP712("USDC", "2") {', 'EIP712("USDC", version_) { _places = places;')
    .replace("function decimals() public pure", "uint8 private immutable _places; function decimals() public view")
    .replace("return 6;", "return _places;"),
);

let market: Market;
beforeAll(async () => {
  market = await openMarket();
});
afterAll(() => market?.[Symbol.asyncDispose]());

/** Deploys a token whose EIP-712 domain version differs from the devnet's, or that has other decimals. */
async function deployVersion(version: string, decimals = 6): Promise<Address> {
  const transport = http(market.chain.url);
  const hash = await createWalletClient({ account: testAccount(4).account, transport }).deployContract({
    abi: token.abi as Abi,
    bytecode: token.bytecode as Hex,
    args: [[payer.address], 1_000_000n, version, decimals],
    chain: null,
  });
  const reader = createPublicClient({ transport, pollingInterval: 100 });
  const { contractAddress } = await reader.waitForTransactionReceipt({ hash });
  return contractAddress as Address;
}

it("sells in a token with EIP-712 domain version 1", async () => {
  const asset = await deployVersion("1");
  const settling = {
    GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: asset,
    GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: "",
    GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY: testAccount(3).privateKey,
    GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_RPC_URL: market.chain.url,
  };
  await expect(market.openOwnShop(settling), "it settles by itself, in a token of version 2").rejects.toThrow(
    'does not have the EIP-712 domain name "USDC", version "2": the token has name "USDC", version "1"; correct assets.',
  );
  await using shop = await market.openOwnShop({ ...settling, GATEHOUSE_RESOURCE_SERVER_TOKEN_VERSION: "1" });
  const url = `${shop.origin}/data`;
  expect(readRequired(await fetch(url)).accepts[0]).toMatchObject({
    asset,
    extra: { name: "USDC", version: "1" },
  });

  market.upstream.behave("data");
  const response = await pay(url, await signPaymentFor(url));
  expect(response.status, await response.text()).toBe(200);
  const reader = createPublicClient({ transport: http(market.chain.url) });
  const args = [payee.address] as const;
  expect(await reader.readContract({ address: asset, abi: erc20Abi, functionName: "balanceOf", args })).toBe(10_000n);
});

describe("a seller with invalid terms", () => {
  const wrong: readonly (readonly [string, () => Promise<Record<string, string>>, RegExp])[] = [
    [
      "another token name",
      async () => ({ GATEHOUSE_RESOURCE_SERVER_TOKEN_NAME: "USD Coin" }),
      /^it rejects every payment to the seller's terms \(token, payTo, price\): invalid_exact_evm_token_name_mismatch: extra\.name is "USD Coin", but the token's name is "USDC"\.$/,
    ],
    [
      "a token unknown to its facilitator",
      async () => ({ GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: testAccount(5).address }),
      /asset 0x\w+ is not settled here; use one of 0x/,
    ],
    [
      "a token of 18 decimals",
      async () => ({
        GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: await deployVersion("2", 18),
        GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: "",
        GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY: testAccount(3).privateKey,
        GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_RPC_URL: market.chain.url,
      }),
      /^token 0x\w+ has 18 decimals, but prices use 6; correct token\.address$/,
    ],
  ];

  it.each(wrong)("is not ready, reports a reason, and returns 503 instead of 402: %s", async (_, env, message) => {
    await using shop = await market.openOwnShop(await env());
    const readyz = () => fetch(`${shop.operationsUrl}/readyz`);
    const check = await until("it reports the reason", generousMs, async () => {
      const { checks } = (await (await readyz()).json()) as { checks: { facilitator: { message: string } } };
      return message.test(checks.facilitator.message) ? checks.facilitator : undefined;
    });
    expect(check).toMatchObject({ ok: false });
    expect([(await readyz()).status, (await fetch(`${shop.origin}/data`)).status]).toEqual([503, 503]);
  });
});
