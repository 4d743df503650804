import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { decodePaymentResponseHeader, decodePaymentSignatureHeader } from "@x402/core/http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { paymentName } from "#x402/payment-name.ts";
import { openMarket, payee, payer, paymentFor, temporaryFolder, urlOf, type Market } from "./shop.ts";

let market: Market;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  market = await openMarket();
  folder = await temporaryFolder();
});
afterAll(async () => {
  await folder?.[Symbol.asyncDispose]();
  await market?.[Symbol.asyncDispose]();
});

type Line = Readonly<Record<string, unknown> & { gatehouse?: Readonly<Record<string, unknown>> }>;

function linesOf(text: string): readonly Line[] {
  const lines = text.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line) as Line);
}

/** The payment that a header carries, as logs name it. */
function nameOf(header: string): string {
  const { accepted, payload } = decodePaymentSignatureHeader(header);
  const { authorization } = payload as { authorization: Readonly<{ from: string; nonce: string }> };
  return paymentName({ ...accepted, payer: authorization.from, nonce: authorization.nonce });
}

test("a payment is in the audit logs of seller and facilitator under one id, without its signature", async () => {
  await using shop = await market.openShop(folder.path);
  const url = `${urlOf(shop)}/data`;
  const header = await paymentFor(url);
  const response = await fetch(url, { headers: { "PAYMENT-SIGNATURE": header } });
  expect(response.status).toBe(200);
  await response.text();
  const { transaction } = decodePaymentResponseHeader(response.headers.get("PAYMENT-RESPONSE") ?? "");
  const payment = nameOf(header);
  const paths = [
    join(market.settler.folder, "facilitator-audit.jsonl"),
    join(folder.path, "resource-server-audit.jsonl"),
  ];
  const audits = await Promise.all(paths.map((path) => readFile(path, "utf8")));
  const changes = audits.flatMap(linesOf).filter(({ gatehouse }) => gatehouse?.["payment"] === payment);
  const after = {
    state: "settled",
    transaction,
    amount: "10000",
    payer: payer.address.toLowerCase(),
    payTo: payee.address.toLowerCase(),
  };
  expect(changes).toMatchObject([
    { "event.action": "payment-settled", "event.outcome": "success", "user.name": "facilitator", gatehouse: { after } },
    { "event.action": "payment-charged", "user.name": payer.address.toLowerCase(), gatehouse: { after } },
  ]);
  const { signature } = decodePaymentSignatureHeader(header).payload as { signature: string };
  expect(audits.join("")).not.toContain(signature.slice(2, 66));
});
