import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { DatabaseSync } from "node:sqlite";
import type { PaymentPayload } from "@x402/core/types";
import { expect, test } from "vitest";
import { testAccount } from "../support/payments/payment-chain.ts";
import { amount, signPayment, type PaymentBody } from "../support/facilitator/signed-payment.ts";

const scene = useFacilitatorScene({ ledger: "owners" });
const { start } = scene;
const payee = testAccount(2).address;
const duplicate = { success: false, errorReason: "duplicate_settlement" };

function terms(payTo: `0x${string}`) {
  return { authorization: { to: payTo }, requirements: { payTo } };
}

/** A payment whose payload has the extension, as built by a client. */
function identified(payment: PaymentBody, id: string): PaymentBody {
  const extensions = { "payment-identifier": { info: { required: false, id } } };
  return { ...payment, paymentPayload: { ...payment.paymentPayload, extensions } as PaymentPayload };
}

test("reports one success to a hundred unidentified calls, and duplicates to the others", async () => {
  const payment = await signPayment(scene.chain.token);
  const balanceBefore = await scene.chain.balanceOf(payee);

  const responses = await Promise.all(Array.from({ length: 100 }, () => scene.facilitator.settle(payment)));

  const reportedResponses = responses.filter(({ body }) => body.success);
  expect(reportedResponses).toHaveLength(1);
  const { transaction } = reportedResponses[0]?.body ?? {};
  for (const { status, body } of [
    ...responses.filter((response) => response !== reportedResponses[0]),
    await scene.facilitator.settle(payment),
  ]) {
    expect({ status, body }).toMatchObject({ status: 200, body: { ...duplicate, transaction } });
  }
  expect((await scene.chain.balanceOf(payee)) - balanceBefore).toBe(amount);
});

test("repeats the outcome to a caller with the same payment-identifier", async () => {
  const signedPayment = await signPayment(scene.chain.token);
  const payment = identified(signedPayment, "pay_7d5d747be160e280504c099d984bcfe0");
  const settledSettlement = await scene.facilitator.settle(payment);
  expect(settledSettlement.body).toMatchObject({ success: true });
  expect(await scene.facilitator.settle(payment)).toEqual(settledSettlement);
  expect((await scene.facilitator.settle(identified(signedPayment, "pay_another_identifier"))).body).toMatchObject(
    duplicate,
  );
  expect((await scene.facilitator.settle(signedPayment)).body).toMatchObject(duplicate);
});

test("rejects a payment-identifier that is reused with other terms, even after kill -9", async () => {
  const id = "pay_7d5d747be160e280504c099d984bcfe2";
  const first = identified(await signPayment(scene.chain.token), id);
  const payTo = testAccount(3).address;
  const others = [
    await signPayment(scene.chain.token, { authorization: { value: "20000" }, requirements: { amount: "20000" } }),
    await signPayment(scene.chain.token, terms(payTo)),
  ].map((other) => identified(other, id));
  const elsewhere = identified(await signPayment(scene.chain.token), id);
  const resource = {
    ...elsewhere,
    paymentPayload: { ...elsewhere.paymentPayload, resource: { url: "https://b.example" } },
  };
  const conflict = "payment_identifier_conflict";
  const runningProcess = await scene.startProcess("identifier");
  const settledSettlement = await runningProcess.settle(first);
  expect(settledSettlement.body).toMatchObject({ success: true });
  expect((await runningProcess.verify(identified(await signPayment(scene.chain.token), id))).body).toMatchObject({
    isValid: true,
  });
  await runningProcess.process.end("SIGKILL");
  await using again = await start("identifier");
  const balanceBefore = await scene.chain.balanceOf(payee);
  for (const other of [...others, resource]) {
    expect((await again.verify(other)).body).toMatchObject({ isValid: false, invalidReason: conflict });
    expect((await again.as("a-sale").settle(other)).body).toMatchObject({ success: false, errorReason: conflict });
  }
  expect(await again.settle(first), "the same payment gets the same response").toEqual(settledSettlement);
  expect((await scene.chain.balanceOf(payee)) - balanceBefore).toBe(0n);
  const payer = testAccount(4);
  const foreign = identified(await signPayment(scene.chain.token, { payer, ...terms(payTo) }), id);
  expect((await again.verify(foreign)).body, "another payer's").toMatchObject({ isValid: true });
});

test("reports one success to verified copies of a payment with a payment-identifier", async () => {
  const payment = identified(await signPayment(scene.chain.token), "pay_7d5d747be160e280504c099d984bcfe1");
  const copies = Array.from({ length: 10 }, async () => {
    const verdict = await scene.facilitator.verify(payment);
    return verdict.body.isValid && (await scene.facilitator.settle(payment)).body.success;
  });
  expect((await Promise.all(copies)).filter(Boolean)).toHaveLength(1);
});

test("closes settled payments of a ledger without owners, and gives those in flight to the first caller", async () => {
  const [old, open] = [await signPayment(scene.chain.token), await signPayment(scene.chain.token)];
  {
    await using first = await start("old");
    for (const payment of [old, open]) expect((await first.settle(payment)).body).toMatchObject({ success: true });
  }
  const database = new DatabaseSync(scene.ledgers.path("old"));
  const newest = "SELECT id FROM settlement ORDER BY begun_at_ms DESC LIMIT 1";
  database.exec(`UPDATE settlement SET state = 'begun', transaction_hash = NULL WHERE id = (${newest})`);
  const later = ["verification", "unsent", "settler", "identifier", "sale", "seller_day", "refund"]
    .map((table) => `DROP TABLE ${table}`)
    .join("; ");
  const columns = ["owner", "contract", "nonce_space"].map((column) => `ALTER TABLE settlement DROP COLUMN ${column}`);
  const index = `CREATE UNIQUE INDEX settlement_authorization
    ON settlement (chain_id, asset, payer, authorization_nonce) WHERE state <> 'failed'`;
  const earlier = ["DROP INDEX settlement_authorization", "DROP INDEX settlement_channel", ...columns, index].join(
    "; ",
  );
  database.exec(`${earlier}; ${later}; PRAGMA user_version = 1`);
  database.close();

  await using second = await start("old");

  expect((await second.as("a-sale").settle(old)).body).toMatchObject(duplicate);
  expect((await second.as("a-sale").settle(open)).body).toMatchObject({ success: true });
  expect((await second.as("another-sale").settle(open)).body).toMatchObject(duplicate);
});

test("stores nothing for rejected payments with new payment-identifiers", async () => {
  const path = scene.ledgers.path("rejected");
  {
    await using other = await start("rejected");
    const expiredPayment = await signPayment(scene.chain.token, { authorization: { validBefore: "1" } });
    for (let copy = 0; copy < 20; copy += 1) {
      const { body } = await other.verify(identified(expiredPayment, `identifier-of-copy-${copy}`));
      expect(body).toMatchObject({ isValid: false });
    }
  }
  using ledger = new DatabaseSync(path, { readOnly: true });
  expect(ledger.prepare("SELECT count(*) AS notes FROM verification").get()).toEqual({ notes: 0 });
});
