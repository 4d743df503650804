import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { expect, test } from "vitest";
import { plainTokenAddress } from "#devnet/contracts/addresses.ts";
import { testAccount } from "../support/payments/payment-chain.ts";
import { runToEnd } from "../support/service-process.ts";
import { buildFacilitatorEnvironment } from "../support/facilitator/running-facilitator.ts";
import { encodeSubmission, signPayment } from "../support/facilitator/signed-payment.ts";

const scene = useFacilitatorScene({
  ledger: "keys",
  env: () => ({ GATEHOUSE_FACILITATOR_API_KEYS: `${keyA}, ${keyB}` }),
});
const [keyA, keyB] = ["the-key-of-seller-A", "the-key-of-seller-B"];
const sellerA = { Authorization: `Bearer ${keyA}` };
const sellerB = { "X-API-Key": keyB };
const duplicate = { success: false, errorReason: "duplicate_settlement" };

test.each([
  ["no key", {}, "missing"],
  ["another key", { Authorization: "Bearer the-key-of-seller-C" }, "wrong"],
  ["half a key", { Authorization: `Bearer ${keyA.slice(0, 8)}` }, "wrong"],
  ["a key in another scheme", { Authorization: `Basic ${keyA}` }, "missing"],
])("returns 401 from verify and settle for %s, and charges nothing", async (_, headers, problem) => {
  const payment = await signPayment(scene.chain.token);
  const before = await scene.chain.balanceOf(testAccount(2).address);
  for (const ask of [scene.facilitator.as(headers).verify, scene.facilitator.as(headers).settle]) {
    expect(await ask(payment)).toEqual({
      status: 401,
      body: { error: `the API key is ${problem}; send one of this facilitator's: Authorization: Bearer <key>` },
    });
  }
  expect((await scene.chain.balanceOf(testAccount(2).address)) - before).toBe(0n);
});

test("returns /supported without a key, but 401 for a wrong one", async () => {
  const supported = `${scene.facilitator.url}/supported`;
  expect((await fetch(supported)).status).toBe(200);
  expect((await fetch(supported, { headers: sellerB })).status).toBe(200);
  expect((await fetch(supported, { headers: { Authorization: "Bearer the-key-of-seller-C" } })).status).toBe(401);
});

test("rejects a second seller's settle as a duplicate, and repeats the outcome to the first", async () => {
  const payment = await signPayment(scene.chain.token);
  expect((await scene.facilitator.as(sellerA).verify(payment)).body).toMatchObject({ isValid: true });
  const settled = await scene.facilitator.as(sellerA).settle(payment);
  expect(settled.body).toMatchObject({ success: true });
  const { transaction } = settled.body;
  expect((await scene.facilitator.as(sellerB).settle(payment)).body).toMatchObject({ ...duplicate, transaction });
  expect(await scene.facilitator.as(sellerA).settle(payment), "requested again").toEqual(settled);
  expect((await scene.facilitator.as(sellerA).verify(payment)).body, "no second sale").toMatchObject({
    isValid: false,
  });
});

test("reports one success to a seller that verified two copies of a payment", async () => {
  const payment = await signPayment(scene.chain.token);
  const { verify, settle } = scene.facilitator.as(sellerA);
  const verdicts = await Promise.all([verify(payment), verify(payment)]);
  expect(verdicts.map(({ body }) => body.isValid)).toEqual([true, true]);
  expect((await settle(payment)).body).toMatchObject({ success: true });
  expect((await settle(payment)).body).toMatchObject(duplicate);
});

test("reports success after a restart for a verified payment that a third party submitted", async () => {
  const env = { GATEHOUSE_FACILITATOR_API_KEYS: `${keyA}, ${keyB}` };
  const payment = await signPayment(scene.chain.token);
  const before = await scene.startProcess("third-party", env);
  expect((await before.as(sellerA).verify(payment)).body).toMatchObject({ isValid: true });
  await before.process.end("SIGKILL");
  await scene.chain.send(testAccount(9), scene.chain.token, encodeSubmission(payment));
  await using next = await scene.start("third-party", env);
  expect((await next.as(sellerB).settle(payment)).body, "who never had it verified").toMatchObject({
    errorReason: "invalid_exact_evm_nonce_already_used",
  });
  expect((await next.as(sellerA).settle(payment)).body).toMatchObject({ success: true });
});

test("treats one Idempotency-Key of two sellers as two sales", async () => {
  const payment = await signPayment(scene.chain.token);
  const [first, second] = [sellerA, sellerB].map((key) => scene.facilitator.as({ ...key, "Idempotency-Key": "1" }));
  const settled = await first?.settle(payment);
  expect(settled?.body).toMatchObject({ success: true });
  expect((await second?.settle(payment))?.body).toMatchObject(duplicate);
  expect(await first?.settle(payment)).toEqual(settled);
});

const otherAssets = [{ address: plainTokenAddress, name: "Devnet Plain Token", version: "1" }];

test("keeps the outcome of a settled payment after its payee or asset is removed from the settings", async () => {
  const payment = await signPayment(scene.chain.token);
  let settled: unknown;
  {
    await using before = await scene.start("removed");
    settled = (await before.as("a-sale").settle(payment)).body;
    expect(settled).toMatchObject({ success: true });
  }
  const invalid = { invalidReason: "invalid_exact_evm_nonce_already_used" };
  for (const [env, why] of [
    [{ GATEHOUSE_FACILITATOR_PAYEES: JSON.stringify([testAccount(3).address]) }, "is not allowed"],
    [{ GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify(otherAssets) }, "is not settled here"],
  ] as const) {
    await using after = await scene.start("removed", env);
    expect((await after.as("a-sale").settle(payment)).body).toEqual(settled);
    expect((await after.as("b-sale").settle(payment)).body).toMatchObject(duplicate);
    expect((await after.verify(payment)).body).toMatchObject(invalid);
    const another = await signPayment(scene.chain.token);
    const message = expect.stringContaining(why);
    expect((await after.as("b-sale").settle(another)).body).toMatchObject({ success: false, errorMessage: message });
    expect((await after.verify(another)).body).toMatchObject({ isValid: false, invalidMessage: message });
  }
});

test("enforces a named seller's limits, and its gas of 24 hours even after kill -9", async () => {
  const other = testAccount(3).address;
  const seller = { payees: [testAccount(2).address], assets: [{ address: scene.chain.token, minAmount: 10_000 }] };
  const sellers = [
    { name: "alice", ...seller, verificationsPerMinute: 3, gasPerDay: 0.000_000_1 },
    { name: "bob", settlementsPerMinute: 1 },
  ];
  const env = {
    GATEHOUSE_FACILITATOR_API_KEYS: `alice=${keyA}\nbob=${keyB}`,
    GATEHOUSE_FACILITATOR_SELLERS: JSON.stringify(sellers),
  };
  const limited = await scene.startProcess("sellers", env);
  const [alice, bob] = [limited.as(sellerA), limited.as(sellerB)];
  const paid = (to: `0x${string}`, value = "10000") =>
    signPayment(scene.chain.token, { authorization: { to, value }, requirements: { payTo: to, amount: value } });
  const toPayee = () => paid(testAccount(2).address);

  const rejected = [
    [await paid(other), "payees of alice in GATEHOUSE_FACILITATOR_SELLERS has 1 other payees"],
    [
      await paid(testAccount(2).address, "9999"),
      `assets of alice in GATEHOUSE_FACILITATOR_SELLERS has minAmount 10000`,
    ],
  ] as const;
  for (const [payment, message] of rejected) {
    const invalidMessage = expect.stringContaining(message);
    expect((await alice.verify(payment)).body).toMatchObject({ isValid: false, invalidMessage });
    expect((await alice.settle(payment)).body).toMatchObject({ success: false, errorMessage: invalidMessage });
  }
  expect((await bob.verify(await paid(other))).body, "another seller's limits do not count").toMatchObject({
    isValid: true,
  });
  const first = await toPayee();
  expect((await alice.verify(first)).body).toMatchObject({ isValid: true });
  const tooMany =
    "alice may use 3 verifications per minute (verificationsPerMinute of alice in GATEHOUSE_FACILITATOR_SELLERS)";
  expect(await alice.verify(first)).toMatchObject({ status: 429, body: { error: expect.stringContaining(tooMany) } });
  const settled = await alice.settle(first);
  expect(settled.body).toMatchObject({ success: true });
  expect((await bob.settle(await toPayee())).body).toMatchObject({ success: true });
  expect(await bob.settle(await toPayee())).toMatchObject({ status: 429 });
  const metrics = await (await fetch(`${limited.operationsUrl}/metrics`)).text();
  expect(metrics).toMatch(/seller_calls_total\{seller="alice",operation="verify",result="limited"\} 1\n/);
  expect(metrics).toMatch(/seller_gas_paid_native_total\{seller="alice",network="eip155:1672"\} \d/);
  const gas = /gatehouse_facilitator_seller_gas_day_native\{seller="alice",network="eip155:1672"\} (\S+)/.exec(
    metrics,
  )?.[1];
  expect(Number(gas)).toBeGreaterThan(0.000_000_1);
  await limited.process.end("SIGKILL");

  await using next = await scene.start("sellers", env);
  const { status, body } = await next.as(sellerA).settle(await toPayee());
  expect([status, body.error]).toEqual([
    429,
    expect.stringMatching(/^alice may use 1e-7 of the native currency for gas in 24 hours \(gasPerDay of alice/),
  ]);
  expect(await next.as(sellerA).settle(first), "what was settled is still answered").toEqual(settled);
  expect(await (await fetch(`${next.operationsUrl}/metrics`)).text()).toContain(
    `gas_day_native{seller="alice",network="eip155:1672"} ${gas}\n`,
  );
  expect(limited.process.output()).not.toMatch(/seller-[AB]/);
});

test("rejects a key that is too short at startup, without printing it", async () => {
  const env = buildFacilitatorEnvironment(
    scene.place("short", { env: { GATEHOUSE_FACILITATOR_API_KEYS: `${keyA} short-one` } }),
  );
  const { status, stderr } = await runToEnd("facilitator", env);
  expect(status).toBe(1);
  expect(stderr).toMatch(/GATEHOUSE_FACILITATOR_API_KEYS: .*keys of 16 to 256 visible characters/);
  expect(stderr).not.toMatch(/seller-A|short-one/);
  expect(scene.facilitator.output()).not.toMatch(/seller-[ABC]/);
});
