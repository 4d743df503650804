import type { Hex } from "#x402/hex.ts";
import type { Caller } from "../callers/caller.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { SettleAnswer } from "#x402/answer.ts";
import type { Settlement } from "../settlement/settlement.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimulatedChain } from "./simulated-chain.ts";
import type { SimulatedDatabase } from "./simulated-database.ts";
import type { SimulatedReplica } from "./simulated-replica.ts";

/** Final response of `settle`. */
export type Answered = Readonly<{ id: Hex; owner: string; result: SettleAnswer }>;

/** Payment, the caller that settles it, and its delay from the start of the run. */
export type Sale = Readonly<{ payment: SignedPayment; caller: Caller; afterMs: number }>;

export type Report = (problem: string) => void;

/** Creates payments of one payer. With a rival, the second one has the authorization nonce of the first. */
export function createSamplePayments(count: number, hasConflict: boolean): readonly SignedPayment[] {
  return Array.from({ length: count }, (_, index): SignedPayment => {
    const digit = String(index + 1);
    const nonce: Hex = `0x${(hasConflict && index === 1 ? "1" : digit).repeat(64)}`;
    const from: Hex = `0x${"01".repeat(20)}`;
    const to: Hex = `0x${"02".repeat(20)}`;
    return {
      id: `0x${`${digit}d`.repeat(32)}`,
      asset: `0x${"a5".repeat(20)}`,
      payer: from,
      payTo: to,
      amount: 10_000n,
      contract: `0x${"a5".repeat(20)}`,
      authorization: { validAfter: 0n, validBefore: 4_000_000_000n, nonce },
      callData: `0x${digit.repeat(8)}`,
    };
  });
}

export function createSale(payment: SignedPayment, owner: string, afterMs = 0): Sale {
  return { payment, caller: { kind: "sale", owner }, afterMs };
}

/** Max time that a caller may wait: the receipt timeout plus the statements before and after it, in a process that may be suspended meanwhile. */
const answerMaxMs = 40_000;

type Asking = Readonly<{
  scheduler: Scheduler;
  replicas: ReadonlyMap<string, SimulatedReplica>;
  answered: Answered[];
  report: Report;
}>;

/** Calls one replica after another until it gets an outcome. */
export async function settleUntilKnown(
  { payment, caller: who, afterMs }: Sale,
  { scheduler, replicas, answered, report }: Asking,
): Promise<void> {
  const { random, pick, nowMs } = scheduler;
  const pause = scheduler.pauseOf(scheduler.actor(who.owner));
  await pause(afterMs);
  for (;;) {
    const { engine, gone } = pick([...replicas.values()] as [SimulatedReplica, ...SimulatedReplica[]]);
    const requestedAtMs = nowMs();
    try {
      const result = await Promise.race([engine.settle(payment, who), gone]);
      if (result.state !== "pending") {
        answered.push({ id: payment.id, owner: who.owner, result });
        return;
      }
    } catch {
      // The outcome is unknown; retry below, as a seller does.
    }
    const waitedMs = nowMs() - requestedAtMs;
    if (waitedMs > answerMaxMs) report(`${who.owner} waited ${waitedMs} ms for an answer`);
    await pause(200 + random() * 2_000);
  }
}

type End = Readonly<{
  report: Report;
  payments: readonly SignedPayment[];
  settlements: readonly Settlement[];
  database: SimulatedDatabase;
  chain: SimulatedChain;
  answered: readonly Answered[];
}>;

/** Compares callers' responses with the ledger and the chain. */
export function checkEnd({ payments, settlements, database, chain, answered, report }: End): void {
  const rows = new Map(
    database.rows("SELECT id, state, transaction_hash FROM settlement").map((row) => [row["id"], row]),
  );
  const rivals = new Set(payments.map(({ authorization }) => authorization.nonce)).size < payments.length;
  for (const [index, settlement] of settlements.entries()) {
    const { id } = settlement;
    const row = rows.get(id);
    const answers = answered.filter((one) => one.id === id);
    if (row?.["state"] === "begun") report(`${id} is begun for ever`);
    const transfers = chain.transfersOf(settlement);
    if (transfers.length > 1) report(`${id} was charged ${transfers.length} times`);
    const paid = new Set(answers.filter(({ result }) => result.state === "settled").map(({ owner }) => owner));
    if (paid.size > 1) report(`${id} was sold to ${[...paid].join(" and ")}`);
    for (const { owner, result } of answers) {
      const isOfRival = rivals && index < 2;
      if (result.state === "settled" && row?.["transaction_hash"] !== result.transaction) {
        report(`${owner} was answered with another transaction than the ledger has`);
      }
      if ((result.state === "refused" || result.state === "failed") && !isOfRival) {
        report(`${owner} was answered ${result.state}, and nobody else wanted the authorization`);
      }
      if (result.state === "settled" && transfers.length === 0)
        report(`${owner} was answered with a success that the chain has not`);
    }
  }
  const charged = payments.filter(({ authorization: { nonce } }) =>
    settlements.some((one) => one.authorizationNonce === nonce && chain.isUsed(one)),
  );
  if (charged.length < payments.length) report("a payment was never settled");
}
