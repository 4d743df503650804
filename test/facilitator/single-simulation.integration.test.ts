import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { testAccount } from "../support/payments/payment-chain.ts";
import { signPayment } from "../support/facilitator/signed-payment.ts";

const scene = useFacilitatorScene({ ledger: "one-simulation" });

test("simulates an unverified payment once before it is sent", async () => {
  const methods: string[] = [];
  scene.tap.rule((calls) => {
    // A simulation includes pending transactions; a nonce is read without them.
    const simulations = calls.filter(({ params }) => params[1] === "pending" && typeof params[0] === "object");
    methods.push(...[...simulations, ...calls.filter(isSend)].map(({ method }) => method));
    return "forward";
  });
  expect((await scene.facilitator.settle(await signPayment(scene.chain.token))).body).toMatchObject({ success: true });
  expect(methods.slice(0, 2)).toEqual(["eth_estimateGas", "eth_sendRawTransaction"]);
});

test("reads no nonces of a token that rejected a settled payment", async () => {
  const countCalls = async () => {
    const before = countChecks();
    expect((await scene.facilitator.verify(await signPayment(scene.chain.token))).body).toMatchObject({
      isValid: true,
    });
    return countChecks() - before;
  };
  expect((await scene.facilitator.settle(await signPayment(scene.chain.token))).body).toMatchObject({ success: true });
  await until("the token is known", generousMs, async () => (await countCalls()) === 1);
});

const countChecks = () => (scene.tap.counts.get("eth_estimateGas") ?? 0) + (scene.tap.counts.get("eth_call") ?? 0);

const isSend = ({ method }: Readonly<{ method: string }>) => method === "eth_sendRawTransaction";

test("sends only one of twenty concurrent payments from a payer that can afford one", async () => {
  const payer = testAccount(6);
  const held = await scene.chain.balanceOf(payer.address);
  const all = { value: String(held) };
  const payments = await Promise.all(
    Array.from({ length: 20 }, () =>
      signPayment(scene.chain.token, { payer, authorization: all, requirements: { amount: String(held) } }),
    ),
  );
  const valid = await Promise.all(payments.map((payment) => scene.facilitator.verify(payment)));
  expect(valid.every(({ body }) => (body as { isValid: boolean }).isValid)).toBe(true);
  const sentBefore = scene.tap.counts.get("eth_sendRawTransaction") ?? 0;
  const bodies = (await Promise.all(payments.map((payment) => scene.facilitator.settle(payment)))).map(
    ({ body }) => body,
  );
  expect(bodies.filter((body) => (body as { success: boolean }).success)).toHaveLength(1);
  for (const body of bodies.filter((one) => !(one as { success: boolean }).success)) {
    const errorReason = "invalid_exact_evm_insufficient_balance";
    expect(body).toMatchObject({ success: false, errorReason, transaction: "" });
  }
  expect((scene.tap.counts.get("eth_sendRawTransaction") ?? 0) - sentBefore).toBe(1);
});
