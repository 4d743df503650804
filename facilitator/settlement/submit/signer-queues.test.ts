import { pino } from "pino";
import { expect, test } from "vitest";
import { Secret } from "#daemon/secrets/secret.ts";
import { StoreError } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import { encodeSettle, permit2Proxies } from "#x402/permit2.ts";
import type { Chain, SendOutcome } from "../../chain/chain.ts";
import { ChainError } from "../../chain/chain-error.ts";
import { createSignerWatch } from "../../chain/signer-watch.ts";
import { createLocalKey, createTransactionSigner } from "../../chain/transaction-signer.ts";
import { sampleSettlement } from "../../testing/sample-settlement.ts";
import type { SettlementContext } from "../context.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type Settlement, createInFlightSettlements } from "../settlement.ts";
import { createSignerQueues } from "./signer-queues.ts";

const log = pino({ level: "silent" });
const settlement = { batchMax: 8, bumpPercent: 25, maxFeePerGasGwei: 500, gasLimit: 200_000 };

/** Two signing accounts; the test controls the node's and the second key's behaviour. */
async function startQueues() {
  const state = {
    balances: [10n ** 18n, 10n ** 18n],
    doesSign: true,
    answer: (): SendOutcome => ({ kind: "accepted" }),
    withdrawn: 0,
    withdraw: () => void (state.withdrawn += 1),
    gas: 65_000n,
  };
  const keys = ["a1", "b2"].map((byte) => createLocalKey(new Secret(`0x${byte.repeat(32)}`)));
  const [firstKey, secondKey] = keys.map((key, index) =>
    createTransactionSigner({
      address: key.address,
      signDigest: (digest) => {
        if (index === 1 && !state.doesSign) throw new ChainError("signer", "the key does not sign");
        return key.signDigest(digest);
      },
    }),
  );
  if (firstKey === undefined || secondKey === undefined) throw new TypeError("there are two keys");
  const chain = {
    balance: async (account: Hex) => state.balances[account === firstKey.address ? 0 : 1],
    transactionCount: async () => 0,
    send: async () => state.answer(),
  } as unknown as Chain;
  const signers = [firstKey, secondKey] as const;
  const signerWatch = createSignerWatch({ chainId: 1_672, gasLimit: 200_000 }, { signers, chain, log });
  await signerWatch.look(1n);
  const book = createInFlightSettlements({ clock: () => 0, monotonicMs: () => 0 });
  const context = {
    chainId: 1_672,
    settlement,
    signers,
    signerWatch,
    chain,
    log,
    fees: { quote: async () => ({ maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }) },
    gas: { find: () => state.gas, most: () => 200_000n },
    contracts: () => new Set(),
    clock: () => 0,
    monotonicMs: () => 0,
  };
  const queues = createSignerQueues(context as unknown as SettlementContext, {
    book,
    ledger: { begin: async () => undefined, withdraw: async () => state.withdraw() } as unknown as Ledger,
    logsUses: () => false,
    onSent: () => undefined,
  });
  let madeCount = 0;
  /** Submits settlements concurrently. Returns the account that sent each, or the error. */
  const submit = async (count: number, changes: Partial<Settlement> = {}) => {
    const entries = Array.from({ length: count }, () => {
      const word: Hex = `0x${String((madeCount += 1)).padStart(64, "0")}`;
      return book.add({ ...sampleSettlement, id: word, authorizationNonce: word, ...changes }, []);
    });
    for (const entry of entries) queues.submit([entry]);
    await queues.idle();
    const ends = entries.map(
      async (entry) => entry.attempts.at(-1)?.signer ?? ((await entry.ended) as ChainError).message,
    );
    return Promise.all(ends);
  };
  return { state, submit, queues, signerWatch, accounts: [firstKey.address, secondKey.address] as const };
}

test("sends settlements to the shortest queue of an account that can pay", async () => {
  const { state, submit, queues, signerWatch, accounts } = await startQueues();
  const [firstKey, secondKey] = accounts;
  expect(await submit(4)).toEqual([firstKey, secondKey, firstKey, secondKey]);
  expect(queues.states()).toEqual(accounts.map((address) => ({ address, nextNonce: 2, inFlight: 2 })));
  state.balances = [0n, 10n ** 18n];
  await signerWatch.look(1n);
  expect(await submit(2)).toEqual([secondKey, secondKey]);
  expect(signerWatch.check()).toEqual({
    ok: true,
    message: expect.stringMatching(
      `^the balance of ${firstKey} for gas is 0 in .*; the balance of ${secondKey} for gas is 1 in native currency$`,
    ),
  });
});

test("moves settlements from a key that can't sign to another key, and releases its nonces", async () => {
  const { state, submit, queues, signerWatch, accounts } = await startQueues();
  const [firstKey, secondKey] = accounts;
  state.doesSign = false;
  expect(await submit(3)).toEqual([firstKey, firstKey, firstKey]);
  expect(queues.states()[1]).toEqual({ address: secondKey, nextNonce: 0, inFlight: 0 });
  expect(signerWatch.shortage(secondKey)).toBe(`${secondKey}: the key does not sign`);
  signerWatch.recordProblem(firstKey, "out of use");
  expect(await submit(1)).toEqual(["the key does not sign"]);
  state.doesSign = true;
  await signerWatch.look(1n);
  expect(signerWatch.check().message).toMatch(`the balance of ${secondKey} for gas is 1`);
  expect(await submit(1)).toEqual([secondKey]);
});

test("moves a settlement rejected for lack of funds to another account, or fails it", async () => {
  const { state, submit, accounts } = await startQueues();
  const poor: SendOutcome = { kind: "rejected", message: "insufficient funds", isUnfunded: true };
  let rejections = 1;
  state.answer = () => ((rejections -= 1) >= 0 ? poor : { kind: "accepted" });
  expect(await submit(1)).toEqual([accounts[1]]);
  expect(state.withdrawn).toBe(1);
  rejections = Number.POSITIVE_INFINITY;
  expect(await submit(1)).toEqual(["the node rejected the settlement: insufficient funds"]);
});

test("releases a rejected transaction and its nonce even if the ledger write fails", async () => {
  const { state, submit, queues } = await startQueues();
  state.answer = () => ({ kind: "rejected", message: "insufficient funds", isUnfunded: true });
  state.withdraw = () => {
    throw new StoreError("the ledger could not be flushed");
  };
  expect(await submit(1)).toEqual(["the ledger could not be flushed"]);
  expect(queues.states().map(({ inFlight }) => inFlight)).toEqual([0, 0]);
});

test("sends an expensive transaction to an account that can pay, and suspends none", async () => {
  const { state, submit, signerWatch, accounts } = await startQueues();
  state.gas = 8_000_000n;
  state.balances = [10n ** 6n, 10n ** 18n];
  await signerWatch.look(1n);
  expect(await submit(2)).toEqual([accounts[1], accounts[1]]);
  state.answer = () => ({ kind: "rejected", message: "insufficient funds", isUnfunded: true });
  expect(await submit(1)).toEqual(["the node rejected the settlement: insufficient funds"]);
  expect(accounts.map((account) => signerWatch.shortage(account))).toEqual([undefined, undefined]);
});

/** Terms of an `upto` payment for a given facilitator. */
const createNamedPayment = (facilitator: Hex) => ({
  contract: permit2Proxies.upto,
  callData: encodeSettle({
    permit: {
      token: sampleSettlement.asset,
      amount: 1n,
      from: sampleSettlement.payer,
      spender: permit2Proxies.upto,
      nonce: 1n,
      deadline: 1n,
      to: sampleSettlement.payTo,
      facilitator,
      validAfter: 0n,
    },
    amount: 1n,
    signature: "0x12",
    approval: undefined,
  }),
});

test("sends an `upto` payment only from the account that its payer named", async () => {
  const { submit, accounts } = await startQueues();
  expect(await submit(2, createNamedPayment(accounts[1]))).toEqual([accounts[1], accounts[1]]);
  expect(await submit(1, createNamedPayment(sampleSettlement.payTo))).toEqual([
    "the account that the payment names submits no transactions here",
  ]);
});
