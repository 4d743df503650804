import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { formatEther, type Hex } from "viem";
import { expect, test } from "vitest";
import { testAccount } from "../support/payments/payment-chain.ts";
import { type FacilitatorClient } from "../support/facilitator/running-facilitator.ts";
import { signPayment } from "../support/facilitator/signed-payment.ts";

const scene = useFacilitatorScene();
const { start } = scene;

const payee = testAccount(2).address;

/** Returns too low a value for the first gas estimate. */
function estimateOnce(gas: number): void {
  let isDone = false;
  scene.tap.rule((calls) => {
    const estimate = calls.find(({ method }) => method === "eth_estimateGas");
    if (isDone || estimate === undefined) return "forward";
    isDone = true;
    return { results: new Map([[estimate.id, `0x${gas.toString(16)}`]]) };
  });
}

/** Reads the signer's transactions since a nonce, with each one's gas limit, gas used and gas price. */
async function readTransactions(fromNonce: number) {
  const { anvil } = scene.chain;
  const latestNumber = Number(await anvil.request<Hex>("eth_blockNumber", []));
  const blocks = await Promise.all(
    Array.from({ length: latestNumber + 1 }, (_, number) =>
      anvil.request<{ transactions: { hash: Hex; from: Hex; nonce: Hex; gas: Hex }[] }>("eth_getBlockByNumber", [
        `0x${number.toString(16)}`,
        true,
      ]),
    ),
  );
  const own = blocks
    .flatMap(({ transactions }) => transactions)
    .filter(({ from, nonce }) => BigInt(from) === BigInt(testAccount(0).address) && Number(nonce) >= fromNonce);
  return Promise.all(
    own.map(async ({ hash, gas }) => {
      const receipt = await anvil.request<{ gasUsed: Hex; effectiveGasPrice: Hex }>("eth_getTransactionReceipt", [
        hash,
      ]);
      return { limit: BigInt(gas), used: BigInt(receipt.gasUsed), price: BigInt(receipt.effectiveGasPrice) };
    }),
  );
}

const nextNonce = async () =>
  Number(await scene.chain.anvil.request<Hex>("eth_getTransactionCount", [testAccount(0).address, "latest"]));

const readGasPaid = ({ metric }: FacilitatorClient, payeeLabel: string) =>
  metric("gas_paid_native_total", `payee="${payeeLabel}",`);

test("limits a settlement's gas to its estimate plus the margin, and counts the gas used", async () => {
  await using facilitator = await start("used", {
    GATEHOUSE_FACILITATOR_PAYEES: JSON.stringify([payee]),
    GATEHOUSE_FACILITATOR_CHAIN_CHARGES_GAS_LIMIT: "false",
  });
  const from = await nextNonce();
  const payment = await signPayment(scene.chain.token);
  expect((await facilitator.verify(payment)).body).toMatchObject({ isValid: true });
  expect((await facilitator.settle(payment)).body).toMatchObject({ success: true });
  expect(scene.tap.counts.get("eth_estimateGas"), "no estimate besides the verification's").toBe(1);
  const [sent, ...more] = await readTransactions(from);
  expect(more).toEqual([]);
  const { limit, used, price } = sent ?? { limit: 0n, used: 0n, price: 0n };
  expect(Number(limit) / Number(used)).toBeGreaterThan(1.15);
  expect(Number(limit) / Number(used)).toBeLessThan(1.35);
  const paid = await readGasPaid(facilitator, payee.toLowerCase());
  expect(paid).toBeCloseTo(Number(formatEther(used * price)), 15);
});

test("resends a settlement that runs out of gas once with the max gas, and charges once", async () => {
  await using facilitator = await start("too-little");
  const [from, before] = [await nextNonce(), await scene.chain.balanceOf(payee)];
  estimateOnce(50_000);
  const payment = await signPayment(scene.chain.token);
  expect((await facilitator.settle(payment)).body).toMatchObject({ success: true });
  const sent = await readTransactions(from);
  expect(sent.map(({ limit }) => limit)).toEqual([60_000n, 200_000n]);
  expect((await scene.chain.balanceOf(payee)) - before).toBe(BigInt(payment.paymentRequirements.amount));
  const cost = sent.reduce((sum, { limit, price }) => sum + limit * price, 0n);
  expect(await readGasPaid(facilitator, "other")).toBeCloseTo(Number(formatEther(cost)), 15);
});

test("rejects payments above the max gas, and fails a settlement that runs out of it without resending", async () => {
  await using facilitator = await start("most", { GATEHOUSE_FACILITATOR_SETTLEMENT_GAS_LIMIT: "60000" });
  expect((await facilitator.verify(await signPayment(scene.chain.token))).body).toMatchObject({
    isValid: false,
    invalidReason: "invalid_exact_evm_transaction_simulation_failed",
  });
  const from = await nextNonce();
  estimateOnce(55_000);
  expect((await facilitator.settle(await signPayment(scene.chain.token))).body).toMatchObject({
    success: false,
    errorReason: "invalid_exact_evm_transaction_failed",
  });
  expect((await readTransactions(from)).map(({ limit }) => limit)).toEqual([60_000n]);
});
