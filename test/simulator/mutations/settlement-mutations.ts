import type { Mutation } from "./mutation.ts";

const settler = "facilitator/settlement/settler.ts";
const sendBatch = "facilitator/settlement/submit/send-batch.ts";
const engine = "facilitator/settlement/engine.ts";
const decision = "facilitator/settlement/track/decision.ts";
const tracker = "facilitator/settlement/track/tracker.ts";
const diagnosis = "facilitator/settlement/track/diagnosis.ts";

/** Faults of what the facilitator records, sends, and reads from the chain. */
export const settlementMutations: readonly Mutation[] = [
  // Content and timing of writes.
  {
    fault: "a transaction is sent that is not in the journal",
    file: sendBatch,
    edits: { "await recordBatch(signed, ledger, nonces);": "" },
  },
  {
    fault: "a transaction is sent before it is in the journal",
    file: sendBatch,
    edits: {
      "await recordBatch(signed, ledger, nonces);": "const recording = recordBatch(signed, ledger, nonces);",
      "const again: Job[] = [];": "const again: Job[] = []; await recording;",
    },
  },
  {
    fault: "the journal is not flushed",
    file: "daemon/sql/commit-groups.ts",
    edits: { "if (this.#flushedCommits < commits) await this.#dependencies.flush();": "" },
  },
  { fault: "an outcome is not recorded", file: tracker, edits: { "await ledger.finish(": "void (" } },
  {
    fault: "an outcome is told before it is recorded",
    file: tracker,
    edits: {
      "await ledger.finish(new Map([...outcomes].map(([{ settlement }, outcome]) => [settlement.id, outcome])));":
        "void ledger.finish(new Map([...outcomes].map(([{ settlement }, outcome]) => [settlement.id, outcome]))).catch(() => {});",
    },
    unnoticed: "its transaction is in the journal, so that the next process finds the same outcome on the chain",
  },
  {
    fault: "the attempts of unfinished settlements are not read at the start",
    file: engine,
    edits: { ".filter(({ attempts }) => attempts.length > 0)": ".filter(() => false)" },
  },
  {
    fault: "nonces in flight are forgotten at the start",
    file: engine,
    edits: { "queues.nonces.get(signer)?.hold(nonce)": "void [signer, nonce]" },
    unnoticed: "the pending count of the node has them, too, and what takes another's nonce is signed again",
  },
  // What is sent.
  {
    fault: "the signer's next nonce is that of the last block",
    file: sendBatch,
    edits: { 'chain.transactionCount(signer.address, "pending")': 'chain.transactionCount(signer.address, "latest")' },
    unnoticed: "what is in flight is held, and what takes another's nonce is signed again",
  },
  {
    fault: "a fault of the node counts as its refusal",
    file: sendBatch,
    edits: {
      'return { kind: "unknown", message: error.message };': 'return { kind: "refused", message: error.message };',
    },
  },
  {
    fault: "a transaction whose nonce is used is withdrawn",
    file: sendBatch,
    edits: { 'outcome.kind === "nonce_taken" && replaced === undefined': "false" },
    unnoticed:
      "a transaction that was just signed is not what has its nonce: the payment is answered as not sent, and is not",
  },
  {
    fault: "a settlement is sent without asking the chain",
    file: settler,
    edits: { "(await check(payment)) ??": "" },
  },
  {
    fault: "a caller gives up although a transaction is signed",
    file: settler,
    edits: { "entry.signed || entry.owner !== caller.owner": "false" },
  },
  {
    fault: "a transaction is not sent again",
    file: decision,
    edits: { 'return resends ? { kind: "resend" } : wait;': "return wait;" },
    unnoticed: "one at a higher fee is sent instead, or the gap is closed",
  },
  {
    fault: "the fee is never raised",
    file: decision,
    edits: { "entry.attempts.length < attemptsMax": "entry.attempts.length < 0" },
  },
  // State of the chain.
  {
    fault: "a block too few confirms",
    file: decision,
    edits: { "head.number - blockNumber + 1 >= confirmations": "head.number - blockNumber + 2 >= confirmations" },
  },
  {
    fault: "a reverted transaction counts as settled",
    file: decision,
    edits: { "if (receipt.status !== 1) return false;": "" },
  },
  {
    fault: "a settlement ends although another of its transactions is open",
    file: decision,
    edits: { "reverted !== undefined && !mayStillSettle": "reverted !== undefined" },
  },
  {
    fault: "a settlement expires before its authorization",
    file: decision,
    edits: {
      "entry.settlement.validBefore + expiryMarginSeconds": "entry.settlement.validBefore - expiryMarginSeconds",
    },
  },
  {
    fault: "a missing receipt is a failure",
    file: diagnosis,
    edits: { 'if (cause === "lost") return { kind: "send_anew" };': "" },
  },
  {
    fault: "another's transaction needs no confirmations",
    file: diagnosis,
    edits: { "head.number - use.receipt.blockNumber + 1 < confirmations": "false" },
    unnoticed: "ours reverts in the same block or later, and is looked into once it has the confirmations",
  },
  {
    fault: "another's transaction is a failure",
    file: diagnosis,
    edits: { "use?.isPaid === true": "use === null" },
  },
  {
    fault: "a node that is behind decides what became of a payment",
    file: diagnosis,
    edits: { 'if (mined.includes(false)) return { kind: "uncertain" };': "" },
    unnoticed: "found by one run in thousands, of an earlier draw of worlds; tracker.test.ts has it",
  },
  {
    fault: "a transaction of an expired payment keeps its nonce for ever",
    file: tracker,
    edits: { "if (next !== undefined) queues.replace(next, nextNonce);": "" },
    unnoticed: "found by one run in thousands, of an earlier draw of worlds; tracker.test.ts has it",
  },
  {
    fault: "all payments of a batch are settled if its transaction is",
    file: decision,
    edits: { "return !isShared || showsSharedTransfer(receipt, settlement);": "return true;" },
  },
  {
    fault: "a payment that fails undoes its batch",
    file: "facilitator/settlement/submit/sign-batch.ts",
    edits: { "encodeBatch(entries, { mayFail: true })": "encodeBatch(entries, { mayFail: false })" },
  },
];
