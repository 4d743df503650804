import { existsSync, readFileSync } from "node:fs";
import { mkdtempDisposable, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodePaymentRequiredHeader } from "@x402/core/http";
import { expect, it } from "vitest";
import { caps, runPay as run, url } from "./testing/run-pay.ts";
import { answerDelivered, createSeller, offer } from "./testing/seller.ts";

const failing = () => new Response("down", { status: 500 });

it("resends the payment of an earlier run whose outcome was unknown, and signs no other", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "payment-"));
  const paymentFile = join(folder.path, "payment.json");
  const seller = createSeller([offer], [failing, failing, failing, failing, answerDelivered]);
  const first = await run({ ...caps, paymentFile }, seller);
  expect([first.status, first.stderr]).toEqual([5, expect.stringContaining(`The payment is in ${paymentFile}:`)]);
  expect((await stat(paymentFile)).mode & 0o777).toBe(0o600);
  const second = await run({ ...caps, paymentFile }, seller);
  expect([second.status, second.stdout]).toEqual([0, "the goods"]);
  expect([seller.headers.length, new Set(seller.headers).size]).toEqual([5, 1]);
  expect(existsSync(paymentFile)).toBe(false);
});

it("saves a payment before it is sent, and removes it once delivered", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "payment-"));
  const paymentFile = join(folder.path, "payment.json");
  const saved: string[] = [];
  const seller = createSeller([offer], [() => (saved.push(readFileSync(paymentFile, "utf8")), answerDelivered())]);
  expect((await run({ ...caps, paymentFile }, seller)).status).toBe(0);
  expect(saved).toEqual([expect.stringContaining(seller.headers[0]!)]);
  expect(existsSync(paymentFile)).toBe(false);
});

it.each([
  "invalid_exact_evm_nonce_already_used",
  "permit2_invalid_nonce",
  "invalid_batch_settlement_evm_deposit_simulation_failed",
  "duplicate_settlement",
])("treats a resent payment that the seller rejects with %s as possibly paid, and keeps it", async (error) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "payment-"));
  const paymentFile = join(folder.path, "payment.json");
  const spent = { x402Version: 2, error, resource: { url }, accepts: [offer] };
  const headers = { "PAYMENT-REQUIRED": encodePaymentRequiredHeader(spent) };
  const reject = () => new Response("{}", { status: 402, headers });
  const seller = createSeller([offer], [failing, failing, failing, failing, reject]);
  await run({ ...caps, paymentFile }, seller);
  const { status, stderr } = await run({ ...caps, paymentFile }, seller);
  expect([status, stderr]).toEqual([5, expect.stringContaining("an earlier run left its outcome open")]);
  expect([new Set(seller.headers).size, existsSync(paymentFile)]).toEqual([1, true]);
});

it("leaves no file when nothing was signed", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "payment-"));
  const paymentFile = join(folder.path, "payment.json");
  expect((await run({ ...caps, maxAmount: "1", paymentFile })).status).toBe(3);
  expect((await run({ ...caps, channels: folder.path, paymentFile })).status).toBe(2);
  expect(existsSync(paymentFile)).toBe(false);
});

it.each([
  { name: "text", content: "x", said: "has no payment; specify another file, or delete it." },
  {
    name: "another request's payment",
    content: JSON.stringify({
      url: "http://other.test/",
      method: "GET",
      header: "h",
      event: { type: "payment-signed" },
    }),
    said: "has the payment of another request, GET http://other.test/; repeat that one, or specify another file.",
  },
])("signs nothing while the file has $name", async ({ content, said }) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "payment-"));
  const paymentFile = join(folder.path, "payment.json");
  await writeFile(paymentFile, content);
  const seller = createSeller();
  const { status, stderr } = await run({ ...caps, paymentFile }, seller);
  expect([status, stderr]).toEqual([2, `pay: --payment-file ${paymentFile} ${said}\n`]);
  expect(seller.payments).toEqual([]);
});
