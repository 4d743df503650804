import { join } from "node:path";
import { writeFile } from "node:fs/promises";
import { encodeFunctionData, erc20Abi, maxUint256 } from "viem";
import { afterAll, beforeAll, expect, it } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { canonicalContracts } from "#x402/contracts.ts";
import { testAccount } from "../../support/payments/payment-chain.ts";
import { createTemporaryFolder, payee, payer, type Market } from "../../support/payments/shop.ts";
import { runInProcess } from "../../support/command-in-process.ts";

/** Payments other than `exact`, in the same market. */
export function testSchemes(opened: () => Market): void {
  const resources = new AsyncDisposableStack();
  let market: Market;
  let folder: string;
  let origin: string;

  beforeAll(async () => {
    market = opened();
    folder = resources.use(await createTemporaryFolder()).path;
    const offer = { price: "0.001", network: "eip155:1672" };
    const upstream = market.upstream.url;
    const routes = {
      "GET /metered": { accepts: { ...offer, scheme: "upto" }, upstream },
      "GET /channel": { accepts: { ...offer, scheme: "batch-settlement" }, upstream },
    };
    const env = { GATEHOUSE_RESOURCE_SERVER_CHANNELS_PRIVATE_KEY: testAccount(3).privateKey };
    ({ origin } = resources.use(await market.openOwnShop(env, { routes })));
    for (const path of ["metered", "channel"])
      await until(`${path} is offered`, generousMs, async () => (await fetch(`${origin}/${path}`)).status === 402);
  });
  afterAll(() => resources.disposeAsync());

  async function buy(path: string, { privateKey } = payer, ...more: readonly string[]) {
    const keyFile = join(folder, "key");
    await writeFile(keyFile, privateKey);
    const limits = ["--max-amount", "0.001", "--asset", market.chain.token, "--rpc-url", market.chain.url];
    return runInProcess(["pay", `${origin}/${path}`, ...limits, "--key-file", keyFile, ...more]);
  }

  it("prints the approval to send for a token without EIP-2612", async () => {
    const { status, stderr } = await buy("metered", testAccount(7));
    const { token } = market.chain;
    const { address } = canonicalContracts.permit2;
    const missing = `account ${testAccount(7).address} has not approved Permit2 for 0.001 of token ${token}`;
    expect([status, stderr]).toEqual([4, expect.stringContaining(`pay: ${missing}, and the token has no EIP-2612,`)]);
    expect(stderr).toContain(
      `cast send ${token} "approve(address,uint256)" ${address} 1000 --rpc-url <url> --interactive\n`,
    );
    expect(stderr).not.toMatch(/viem|Docs:/);
  });

  it("reports the amount that upto charged", async () => {
    const args = [canonicalContracts.permit2.address, maxUint256] as const;
    const approval = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args });
    await market.chain.send(payer, market.chain.token, approval);
    const charge = async (amount: string) => {
      market.upstream.behave("data", { "Settlement-Overrides": JSON.stringify({ amount }) });
      const { status, stderr } = await buy("metered");
      expect([status, stderr]).toEqual([0, expect.stringContaining("Signed a payment of up to 0.001 USDC to 0x")]);
      return stderr;
    };
    expect(await charge("250")).toMatch(
      /^Charged 0\.00025 USDC\nSettled on eip155:1672 by transaction\n {2}0x[0-9a-f]{64}$/m,
    );
    expect(await charge("0")).toMatch(/^Charged 0 USDC; no transaction\nResponse 200/m);
  });

  it("reports price, voucher and deposit of a payment through a channel", async () => {
    const channels = ["--channels", join(folder, "channels"), "--max-total", "0.005"];
    const first = await buy("channel", payer, ...channels);
    const price = `Signed a payment of up to 0.001 USDC to ${payee.address}\n  token ${market.chain.token} on eip155:1672\n`;
    expect([first.status, first.stderr]).toEqual([0, expect.stringContaining(price)]);
    expect(first.stderr).toContain("  after a deposit of 0.005 USDC into the channel\n");
    expect(first.stderr).toMatch(
      /^Charged 0\.001 USDC; the channel's voucher is 0\.001 USDC\nDeposited on eip155:1672 by transaction\n {2}0x\w{64}$/m,
    );
    const { status, stderr, stdout } = await buy("channel", payer, ...channels, "--json");
    expect([status, stderr]).toEqual([0, expect.stringContaining(price)]);
    expect(stderr).toContain("  by the channel's voucher of 0.002 USDC in total\n");
    expect(stderr).toMatch(/^Charged 0\.001 USDC; the channel's voucher is 0\.002 USDC; no transaction$/m);
    expect(JSON.parse(stdout).payment).toMatchObject({ amount: "1000", price: "0.001", channel: { voucher: "2000" } });
  });
}
