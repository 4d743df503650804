import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { caps, runPay as run, url } from "./testing/run-pay.ts";
import { account, asset, offer, createSeller, settlement } from "./testing/seller.ts";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "gatehouse-pay-"));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

describe("pay --json", () => {
  it("writes one JSON document", async () => {
    const { status, stdout, stderr } = await run({ ...caps, json: true });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      end: "delivered",
      exitStatus: 0,
      message: null,
      url,
      offers: [],
      payment: {
        network: "eip155:1672",
        asset: asset.address,
        amount: "10000",
        price: null,
        from: account.address,
        to: offer.payTo,
        nonce: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        validBefore: expect.any(Number),
      },
      settlement,
      response: { status: 200, contentType: "text/plain;charset=UTF-8", bytes: 9, body: "the goods" },
    });
    expect(stderr).toContain("Signed a payment of 10000 smallest units");
  });

  it("writes the offers with --dry-run, with null for unknown values", async () => {
    const { status, stdout } = await run({ dryRun: true, json: true });
    expect(status).toBe(0);
    const { scheme, network, amount, payTo, maxTimeoutSeconds } = offer;
    const view = { scheme, network, asset: asset.address, amount, payTo, maxTimeoutSeconds };
    expect(JSON.parse(stdout)).toMatchObject({
      end: "delivered",
      offers: [{ ...view, price: null, decimals: null, symbol: null, objection: null }],
      payment: null,
      response: null,
    });
  });
});

it("exits with 5 for a paid response that can't be written to stdout, and with 1 for a shown price", async () => {
  const full = new Error("ENOSPC: no space left on device, write");
  const paid = await run(caps, createSeller(), full);
  expect(paid.status).toBe(5);
  expect(paid.stderr).toMatch(
    /\npay: the response can't be written to stdout \(ENOSPC: .+\)\. The payment of 10000 smallest units of token /,
  );
  expect(await run({ dryRun: true, json: true }, createSeller(), full)).toMatchObject({ status: 1 });
});

describe("pay -o", () => {
  it("writes the response to the file, and nothing to stdout", async () => {
    const output = join(await folder(), "goods");
    const { status, stdout } = await run({ ...caps, output });
    expect([status, stdout, await readFile(output, "utf8")]).toEqual([0, "", "the goods"]);
  });

  it("rejects an unwritable file before signing", async () => {
    const shop = createSeller();
    const output = join(await folder(), "no", "goods");
    const { status, stderr } = await run({ ...caps, output }, shop);
    expect([status, stderr, shop.payments]).toEqual([2, `pay: -o ${output} can't be written (ENOENT).\n`, []]);
  });

  it("keeps an existing file and creates none if nothing is delivered", async () => {
    const directory = await folder();
    const kept = join(directory, "kept");
    await writeFile(kept, "before");
    for (const output of [kept, join(directory, "none")]) {
      await run({ ...caps, maxAmount: "5", output });
    }
    expect([await readFile(kept, "utf8"), await readdir(directory)]).toEqual(["before", ["kept"]]);
  });
});
