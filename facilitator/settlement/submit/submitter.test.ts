import { expect, test } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import { sampleAttempt, sampleSettlement } from "../../testing/sample-settlement.ts";
import { createInFlightSettlements } from "../settlement.ts";
import type { BatchOutcome } from "./send-batch.ts";
import { createSubmitter } from "./signer-queues.ts";

/** A submitter with one previously sent settlement, and the outcomes of its batches. */
function createTestSubmitter(sendBatch: () => Promise<BatchOutcome>) {
  const lines: string[] = [];
  const log = createLog({ service: "test", level: "error" }, { write: (line) => void lines.push(line) });
  const book = createInFlightSettlements({ clock: Date.now, monotonicMs: () => 0 });
  let wakes = 0;
  const submitter = createSubmitter(
    { batchMax: 8 },
    { log, sendBatch, onSent: () => (wakes += 1), onUnsent: () => undefined },
  );
  const entry = book.add(sampleSettlement, [sampleAttempt]);
  const replace = async () => {
    submitter.replace([entry]);
    await submitter.idle();
  };
  return { replace, wakes: () => wakes, errors: () => lines.length };
}

test("polls for receipts immediately only after a new transaction", async () => {
  let signedCount = 0;
  const { replace, wakes } = createTestSubmitter(async () => ({ signed: signedCount, again: [], unsent: [] }));
  await replace();
  expect(wakes()).toBe(0);
  signedCount = 1;
  await replace();
  expect(wakes()).toBe(1);
});

test("logs a persistent fault once, and again after a recovery", async () => {
  let fault: string | undefined = "the chain charges too much";
  const { replace, errors } = createTestSubmitter(async () => {
    if (fault !== undefined) throw new Error(fault);
    return { signed: 1, again: [], unsent: [] };
  });
  for (let polls = 0; polls < 3; polls += 1) await replace();
  expect(errors()).toBe(1);
  fault = "the node is away";
  await replace();
  expect(errors()).toBe(2);
  fault = undefined;
  await replace();
  fault = "the node is away";
  await replace();
  expect(errors()).toBe(3);
});
