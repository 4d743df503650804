import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openMarket, payee, payer, createTemporaryFolder, findUrl, type Market } from "../support/payments/shop.ts";
import { tokenReader } from "#client/token-reader.ts";
import { describeUnfinishedPayment } from "#client/unfinished-payment.ts";
import { plainTokenAddress } from "#devnet/contracts/addresses.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import { runInProcess } from "../support/command-in-process.ts";
import { runGatehouse } from "../support/run-command.ts";
import type { ServiceInProcess } from "../support/service-in-process.ts";
import type { ServiceProcess } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { gatehouseProgram } from "../support/programs/place.ts";
import { testSchemes } from "./pay/schemes.ts";

const plainToken = { address: plainTokenAddress, name: "Devnet Plain Token", version: "1", decimals: 18 };
let market: Market;
let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let shop: ServiceProcess;
let url: string;
let payerFile: string;
let allowed: readonly string[];

beforeAll(async () => {
  const assets = [
    { address: tokenAddress, name: "USDC", version: "2" },
    { address: plainTokenAddress, name: plainToken.name, version: plainToken.version },
  ];
  market = await openMarket({ GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify(assets) });
  folder = await createTemporaryFolder();
  // The last test leaves a request to this server in flight.
  shop = await market.openShop(folder.path);
  url = `${findUrl(shop)}/data`;
  payerFile = join(folder.path, "payer");
  await writeFile(payerFile, `${payer.privateKey}\n`);
  allowed = ["--max-amount", "0.01", "--asset", market.chain.token, "--rpc-url", market.chain.url];
});

afterAll(async () => {
  await shop?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
  await market?.[Symbol.asyncDispose]();
});

beforeEach(() => market.upstream.behave("data"));

async function pay(...args: readonly string[]) {
  const before = await market.chain.balanceOf(payee.address);
  const result = await runInProcess(["pay", url, ...args]);
  return { ...result, gain: (await market.chain.balanceOf(payee.address)) - before };
}

it("shows the price from the token's contract, then buys with the options that it suggested", async () => {
  const shown = await pay("--rpc-url", market.chain.url);
  expect([shown.status, shown.stdout, shown.gain]).toEqual([2, "", 0n]);
  const words = `0.01 USDC (10000 smallest units of token ${market.chain.token} on eip155:1672), to ${payee.address}`;
  expect(shown.stderr).toContain(words);
  const [, options = ""] = /To pay it, add: (.*) --key-file <file>/.exec(shown.stderr) ?? [];
  const bought = await pay(...options.split(" "), "--rpc-url", market.chain.url, "--key-file", payerFile);
  expect([bought.status, bought.stdout, bought.gain]).toEqual([0, '{"sold":1}', 10_000n]);
  expect(bought.stderr).toContain(
    `Signed a payment of 0.01 USDC to ${payee.address}\n  token ${market.chain.token} on eip155:1672\n`,
  );
  expect(bought.stderr.split("\n").filter((line) => line.length > 80)).toEqual([]);
});

it("pays nothing with --dry-run", async () => {
  const { status, stdout, stderr, gain } = await pay(...allowed, "--dry-run");
  expect([status, stdout, gain]).toEqual([0, "", 0n]);
  expect(stderr).toContain("Nothing was signed. Without --dry-run, this command pays it, if the account has enough;");
  const checked = await pay(...allowed, "--dry-run", "--key-file", payerFile);
  expect([checked.status, checked.gain]).toEqual([0, 0n]);
  expect(checked.stderr).toContain("Nothing was signed. Without --dry-run, this command pays it.\n");
});

it("compares caps in whole tokens by the decimals on the chain, and rejects decimals from elsewhere", async () => {
  const rest = [...allowed.slice(2), "--key-file", payerFile];
  for (const [cap, status, message] of [
    ["0.001", 3, "costs 0.01, the cap per payment is 0.001"],
    ["5", 3, "the cap per payment is 0.000005 (5 smallest units, as a number without a point is)"],
    ["0.0000001", 2, "pay: 0.0000001 has 7 digits after the point, but the token has 6 decimals."],
  ] as const) {
    const paid = await pay("--max-amount", cap, ...rest);
    expect([paid.status, paid.stderr, paid.gain]).toEqual([status, expect.stringContaining(message), 0n]);
  }
  const told = await pay(...allowed.slice(0, 4), "--decimals", "0", "--key-file", payerFile);
  expect([told.status, told.gain]).toEqual([2, 0n]);
});

it("reports the account, its balance and the required amount if the balance is too low, and signs nothing", async () => {
  const keyFile = join(folder.path, "poor");
  await writeFile(keyFile, `0x${"11".repeat(32)}`);
  const { status, stderr } = await pay(...allowed, "--key-file", keyFile);
  expect([status, stderr]).toEqual([
    4,
    expect.stringMatching(
      /account 0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A has 0 of token 0x\w{40} on eip155:1672, the price is 0\.01; nothing was signed/,
    ),
  ]);
  const shown = await pay(...allowed, "--key-file", keyFile, "--dry-run");
  expect([shown.status, shown.stderr]).toEqual([4, expect.stringMatching(/account 0x19E7\w+ has 0 of token 0x/)]);
  const unread = await pay("--max-amount", "10000", "--asset", market.chain.token, "--key-file", keyFile);
  expect([unread.status, unread.stderr]).toEqual([4, expect.stringContaining("the balance of account 0x")]);
});

describe("a token without EIP-3009", () => {
  let routes: AsyncDisposable & Readonly<{ path: string }>;
  let seller: ServiceInProcess;
  const buy = (...args: readonly string[]) => {
    const limits = ["--max-amount", "2", "--asset", plainTokenAddress];
    return runInProcess(["pay", `${findUrl(seller)}/permit2`, ...limits, "--key-file", payerFile, ...args]);
  };

  beforeAll(async () => {
    routes = await createTemporaryFolder();
    const path = join(routes.path, "permit2.json5");
    const price = { price: "0.000000000000000002", network: "eip155:1672", asset: plainToken };
    const accepts = { ...price, scheme: "exact", assetTransferMethod: "permit2" };
    await writeFile(path, JSON.stringify({ "GET /permit2": { accepts, upstream: market.upstream.url } }));
    seller = await market.openShopInProcess(routes.path, { GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: path });
    const isOffered = async () => (await fetch(`${findUrl(seller)}/permit2`)).status === 402;
    await until("the seller has reached its facilitator", generousMs, isOffered);
  });
  afterAll(async () => {
    await seller?.[Symbol.asyncDispose]();
    await routes?.[Symbol.asyncDispose]();
  });

  it("is paid for with a signed Permit2 approval if the chain confirms it; otherwise the command prints the approval", async () => {
    const rejected = await buy();
    expect([rejected.status, rejected.stderr]).toEqual([
      4,
      expect.stringContaining(
        `has not approved Permit2 for 2 smallest units of token ${plainTokenAddress}. With --rpc-url,`,
      ),
    ]);
    expect(rejected.stderr).toContain(
      `cast send ${plainTokenAddress} "approve(address,uint256)" 0x000000000022D473030F116dDEE9F6B43aC78BA3 2 --rpc-url`,
    );
    const bought = await buy("--rpc-url", market.chain.url);
    expect([bought.status, bought.stdout]).toEqual([0, '{"sold":1}']);
  });

  it("is checked at Permit2 if nothing was delivered", async () => {
    market.upstream.behave("error");
    const { status, stderr } = await buy("--rpc-url", market.chain.url);
    expect([status, stderr]).toEqual([
      5,
      expect.stringMatching(/returned HTTP 502 \(.*\)\. The payment of .* is not charged yet.*"nonceBitmap\(address,/),
    ]);
  });
});

describe("another scheme", () => testSchemes(() => market));

it("checks on the chain what happened to a payment without a delivery", async () => {
  market.upstream.behave("error");
  const { status, stdout, stderr } = await pay(...allowed, "--key-file", payerFile);
  expect([status, stdout]).toEqual([5, ""]);
  expect(stderr).toMatch(
    /the server returned HTTP 502 \(.*you were not charged.*\)\. The payment of 0\.01 .* is not charged yet/,
  );
});

it("continues without an unresponsive chain endpoint, and never shows its path", async () => {
  const endpoint = ["--rpc-url", "http://127.0.0.1:1/v2/an-api-key", "--max-amount", "10000"];
  const { status, stderr } = await pay(...allowed.slice(2, 4), ...endpoint, "--key-file", payerFile);
  expect([status, stderr]).toEqual([
    0,
    expect.stringMatching(/can't be read at 127\.0\.0\.1:1: HTTP request failed\. bad port/),
  ]);
  expect(stderr).not.toContain("an-api-key");
});

it("exits with 1 and the cause if the chain endpoint, which knows the token's decimals, is unresponsive", async () => {
  const endpoint = ["--rpc-url", "http://127.0.0.1:1/v2/an-api-key"];
  for (const more of [[], ["--dry-run"]]) {
    const { status, stderr } = await pay(...allowed.slice(0, 4), ...endpoint, "--key-file", payerFile, ...more);
    const lastLine = stderr.trimEnd().split("\n").at(-1);
    expect([status, lastLine]).toEqual([1, expect.stringContaining("can't be read at 127.0.0.1:1: ")]);
    expect(stderr).not.toContain("an-api-key");
  }
});

it("names the file of an invalid key", async () => {
  const keyFile = join(folder.path, "invalid");
  await writeFile(keyFile, "0x12");
  const { status, stderr } = await pay(...allowed, "--key-file", keyFile);
  const words = `pay: --key-file: ${keyFile} has no private key: 64 hexadecimal digits, with or without 0x.\n`;
  expect([status, stderr]).toEqual([2, words]);
});

it("distinguishes a charged payment, one that can still be charged, and one that never will be", async () => {
  const { stdout } = await pay(...allowed, "--key-file", payerFile, "--json");
  const { network, asset, amount: value, from, to, nonce, validBefore } = JSON.parse(stdout).payment;
  const authorization = { from, to, value, validAfter: "0", validBefore: String(validBefore), nonce };
  const tokens = tokenReader({ rpcUrl: market.chain.url });
  const unknown = { end: "perhaps-paid", tokens } as const;
  const terms = { network, asset, amount: value, isMax: false, decimals: 6, symbol: "USDC" };
  const describePayment = (changes: Partial<typeof authorization>) =>
    describeUnfinishedPayment({ ...terms, authorization: { ...authorization, ...changes } }, unknown);
  const unused = `0x${"77".repeat(32)}`;
  expect(await describePayment({})).toEqual({ end: "perhaps-paid", text: expect.stringContaining(" was charged (") });
  expect(await describePayment({ validBefore: "1000" })).toMatchObject({ end: "perhaps-paid" });
  const open = await describePayment({ nonce: unused });
  expect(open).toEqual({ end: "perhaps-paid", text: expect.stringContaining("is not charged yet, but can be until") });
  expect(await describePayment({ nonce: unused, validBefore: "1000" })).toEqual({
    end: "not-delivered",
    text: expect.stringMatching(/expired at 1970-.* and was never charged .*You can pay again\.$/),
  });
});

it("reports what a payment may still cost if stopped after signing", async () => {
  market.upstream.behave("hang");
  const args = ["pay", url, ...allowed, "--key-file", payerFile];
  const child = spawn(process.execPath, [gatehouseProgram, ...args], {
    env: { PATH: "" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += String(chunk)));
  await until("the payment is on its way", generousMs, () => market.upstream.hits() === 1);
  child.kill("SIGINT");
  expect(await once(child, "close")).toEqual([5, null]);
  expect(stderr).toMatch(/can't be bought: .*The payment of 0\.01 .* is not charged yet, but can be until \d{4}-/);
});

it("lists every exit status in its help", async () => {
  const { stdout } = await runGatehouse(["pay", "--help"]);
  for (const status of [0, 1, 2, 3, 4, 5]) expect(stdout).toMatch(new RegExp(`^  ${status}  \\S`, "m"));
});
