import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { expect, test } from "vitest";
import { testAccount } from "../support/payments/payment-chain.ts";
import { accelerateService } from "../support/accelerated-waits.ts";
import { takeSlice } from "../support/run-size.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startRpcTap } from "../support/facilitator/rpc-tap.ts";
import { amount, signPayment } from "../support/facilitator/signed-payment.ts";

const scene = useFacilitatorScene({ blockTimeSeconds: 3_600 });
const { mineUntil, start, startProcess } = scene;
const payee = testAccount(2).address;
/** Idempotency key of a caller; a caller that retries after the crash must repeat it. */
const sale = "a-sale";

/** Expects that a client's connection is lost. */
async function expectCutOff(work: Promise<unknown>): Promise<void> {
  await expect(work).rejects.toThrow(/fetch failed/);
}

// The simulator (test/simulator) kills the same code between any two steps, with shared transactions and a node that drops transactions.
// Here, a real process with a ledger file is killed.
test("a process restarted after kill -9 sends the journaled transaction, and charges once", async () => {
  await using tap = await startRpcTap(scene.chain.url);
  tap.rule((calls) => (calls.some(({ method }) => method === "eth_sendRawTransaction") ? "hang" : "forward"));
  const payment = await signPayment(scene.chain.token);
  const balanceBefore = await scene.chain.balanceOf(payee);
  let begunBeforeMs = 0;
  {
    const first = await startProcess("before-send", {}, { rpcUrl: tap.url });
    const cut = expectCutOff(first.as(sale).settle(payment));
    await until("it is about to be sent", generousMs, () => tap.counts.get("eth_sendRawTransaction") === 1);
    begunBeforeMs = Date.now();
    await first.process.end("SIGKILL");
    await cut;
  }
  expect(await scene.countPooled()).toBe(0);

  await using second = await start("before-send");
  const passedSeconds = (Date.now() - begunBeforeMs) / 1_000;
  expect(
    await second.metric("oldest_settlement_seconds"),
    "a restart does not reset a settlement's age",
  ).toBeGreaterThanOrEqual(passedSeconds);
  await until("the next process sends it on its own", generousMs, async () => (await scene.countPooled()) === 1);
  for (const other of [second, second.as("another-sale")])
    expect((await other.verify(payment)).body).toMatchObject({ isValid: false, invalidReason: "duplicate_settlement" });
  expect((await second.as(sale).verify(payment)).body).toMatchObject({ isValid: true });
  const asked = [second.settle(payment), second.as("another-sale").settle(payment), second.as(sale).settle(payment)];
  const [unnamed, other, response] = await mineUntil(Promise.all(asked));

  expect(response?.body).toMatchObject({ success: true });
  const { transaction } = response?.body ?? {};
  for (const duplicate of [unnamed, other, await second.settle(payment)]) {
    expect(duplicate?.body).toMatchObject({ success: false, errorReason: "duplicate_settlement", transaction });
  }
  expect((await scene.chain.balanceOf(payee)) - balanceBefore).toBe(amount);
});

test("a stopping process returns settlement_pending, and the next one the outcome", async () => {
  const payment = await signPayment(scene.chain.token);
  const balanceBefore = await scene.chain.balanceOf(payee);
  const first = await startProcess("stopped", accelerateService({ waitsMs: [3_000], times: 15 }));
  const pendingSettlement = first.as(sale).settle(payment);
  await until("the node has it", generousMs, async () => (await scene.countPooled()) === 1);

  expect(await first.process.end("SIGTERM")).toBe(0);

  const reported = await pendingSettlement;
  expect(reported.body).toMatchObject({
    success: false,
    errorReason: "settlement_pending",
    transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
  });
  await using second = await start("stopped");
  const response = await mineUntil(second.as(sale).settle(payment));
  expect(response.body).toMatchObject({ success: true, transaction: reported.body.transaction });
  expect((await scene.chain.balanceOf(payee)) - balanceBefore).toBe(amount);
});

test("repeatedly killed processes settle each of eight payments once", async () => {
  const payments = await Promise.all(Array.from({ length: 8 }, () => signPayment(scene.chain.token)));
  const balanceBefore = await scene.chain.balanceOf(payee);
  for (const delayMs of takeSlice([5, 15, 30, 60, 120], 3)) {
    const runningProcess = await startProcess("often");
    const attempts = payments.map((payment) =>
      runningProcess
        .as(sale)
        .settle(payment)
        .catch(() => undefined),
    );
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    await runningProcess.process.end("SIGKILL");
    await Promise.all(attempts);
    if (delayMs > 20) await scene.chain.anvil.mine();
  }

  await using last = await start("often");
  const responses = await mineUntil(Promise.all(payments.map(last.as(sale).settle)));

  expect(responses.map(({ body }) => body.success)).toEqual(payments.map(() => true));
  expect((await scene.chain.balanceOf(payee)) - balanceBefore).toBe(8n * amount);
});
