import { expect, test } from "vitest";
import { encodeInteger } from "#x402/hex.ts";
import { createPayerFunds } from "./payer-funds.ts";

const asset = `0x${"a5".repeat(20)}` as const;
const spending = { asset, contract: asset, payer: `0x${"01".repeat(20)}`, amount: 10n, callData: "0x" } as const;

/** The funds as seen through a node whose balance the test sets and whose responses the test releases. */
function openFunds(balance: bigint) {
  const node = { balance, reads: 0, answers: Promise.resolve() };
  const chain = {
    read: async () => {
      node.reads += 1;
      const word = `0x${encodeInteger(node.balance)}` as const;
      await node.answers;
      return word;
    },
  };
  return { node, funds: createPayerFunds({ chain, monotonicMs: () => 0 }) };
}

const inFlight = () => Promise.withResolvers<void>();
const tick = () => new Promise((resolve) => setImmediate(resolve));

test("reads no balance for a payer's first simulated settlement, but reads it for the next one", async () => {
  const { node, funds } = openFunds(20n);
  const [first, second] = [inFlight(), inFlight()];
  expect(await funds.open(spending).reserve(first.promise, { isSimulated: true })).toBeUndefined();
  expect(node.reads).toBe(0);
  expect(await funds.open(spending).reserve(second.promise, { isSimulated: true })).toBeUndefined();
  expect(node.reads).toBe(1);
});

test("queues an uncovered settlement until those in flight end, then rejects it", async () => {
  const { node, funds } = openFunds(10n);
  const first = inFlight();
  funds.add(spending, first.promise);
  const completed: unknown[] = [];
  const reservations = [1, 2].map(() => funds.open(spending).reserve(inFlight().promise));
  for (const one of reservations) void one.then((rejection) => completed.push(rejection?.reason));
  await tick();
  expect(completed).toEqual([]);
  node.balance = 0n;
  first.resolve();
  await Promise.all(reservations);
  expect(completed).toEqual(["invalid_exact_evm_insufficient_balance", "invalid_exact_evm_insufficient_balance"]);
});

test("releases as many waiting settlements as the balance covers", async () => {
  const { node, funds } = openFunds(10n);
  const first = inFlight();
  funds.add({ ...spending, asset: `0x${"A5".repeat(20)}` }, first.promise);
  let coveredCount = 0;
  for (let waiting = 0; waiting < 3; waiting += 1)
    void funds
      .open(spending)
      .reserve(inFlight().promise)
      .then(() => (coveredCount += 1));
  await tick();
  expect(coveredCount).toBe(0);
  node.balance = 20n;
  first.resolve();
  await tick();
  expect(coveredCount).toBe(2);
});

test("rereads a balance if another settlement ended during the read", async () => {
  const { node, funds } = openFunds(10n);
  const [firstCall, secondCall] = [inFlight(), inFlight()];
  node.answers = secondCall.promise;
  funds.add(spending, firstCall.promise);
  const reservation = funds.open(spending).reserve(inFlight().promise);
  node.balance = 5n;
  firstCall.resolve();
  await tick();
  secondCall.resolve();
  expect((await reservation)?.message).toContain("is 5 of");
  expect(node.reads).toBe(2);
});

test("ignores a simulation made before another settlement ended", async () => {
  const { node, funds } = openFunds(0n);
  const otherCall = inFlight();
  const checkedSpending = funds.open(spending);
  funds.add(spending, otherCall.promise);
  otherCall.resolve();
  await tick();
  expect((await checkedSpending.reserve(inFlight().promise, { isSimulated: true }))?.reason).toContain(
    "insufficient_balance",
  );
  expect(node.reads).toBe(1);
});
