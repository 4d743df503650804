/** Edits of each fault, by file and effect of the fault. */
export type FaultsByFile = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>;

export const settlementMutations: FaultsByFile = {
  "facilitator/settlement/submit/send-batch.ts": {
    "a transaction is sent that is not in the journal": { "await recordBatch(signedJobs, ledger, nonces);": "" },
    "a transaction is sent before it is in the journal": {
      "await recordBatch(signedJobs, ledger, nonces);": "const recording = recordBatch(signedJobs, ledger, nonces);",
      "const retriedJobs: Job[] = [];": "const retriedJobs: Job[] = []; await recording;",
    },
    "the signer's next nonce is that of the last block": {
      'chain.transactionCount(signer.address, "pending")': 'chain.transactionCount(signer.address, "latest")',
    },
    "a fault of the node counts as its rejection": {
      'return { kind: "unknown", message: error.message };': 'return { kind: "rejected", message: error.message };',
    },
    "a transaction whose nonce is used is withdrawn": {
      'outcome.kind === "nonce_taken" && replaced === undefined': "false",
    },
  },
  "daemon/sql/commit-groups.ts": {
    "the journal is not flushed": { "if (this.#flushedCommits < commits) await this.#dependencies.flush();": "" },
  },
  "facilitator/settlement/track/nonce-gaps.ts": {
    "a transaction of an expired payment keeps its nonce forever": {
      "queues.replace((unmined ?? waiting[0])?.entries ?? [], nextNonce);": "",
    },
  },
  "facilitator/settlement/track/tracker.ts": {
    "an outcome is not recorded": { "await ledger.finish(": "void (" },
    "an outcome is reported before it is recorded": {
      "await ledger.finish(new Map([...outcomes].map(([{ settlement }, outcome]) => [settlement.id, outcome])));":
        "void ledger.finish(new Map([...outcomes].map(([{ settlement }, outcome]) => [settlement.id, outcome]))).catch(() => {});",
    },
    "a missing nonce is filled for the first account only": {
      "Promise.all([...queues.nonces].map(": "Promise.all([...queues.nonces].slice(0, 1).map(",
    },
  },
  "facilitator/settlement/engine.ts": {
    "the attempts of unfinished settlements are not read at startup": {
      ".filter(({ attempts }) => attempts.length > 0)": ".filter(() => false)",
    },
    "nonces in flight are forgotten at startup": {
      "queues.nonces.get(signer)?.hold(nonce)": "void [signer, nonce]",
    },
    "a stranger's call hides whose payment it is": {
      "inFlight !== undefined && (inFlight.unrecorded || inFlight.signed)": "inFlight !== undefined",
    },
  },
  "facilitator/settlement/settler.ts": {
    "a settlement is sent without querying the chain": { "(await check(payment)) ??": "" },
    "a caller gives up although a transaction is signed": { "entry.signed || entry.owner !== caller.owner": "false" },
    "the owner in the ledger is not read": {
      "if (progress !== undefined) entry.owner = await resolveOwner(progress, entry, ownership);": "",
    },
    "two payments with the same nonce are sent": {
      'if (await ledger.hasConflict(entry.settlement)) return { state: "rejected", rejection: nonceUsed };': "",
      "if (book.hasConflict(settlement)) return undefined;": "",
    },
  },
  "facilitator/chain/chain.ts": {
    "one confirmation too few is enough": {
      "head.number - blockNumber + 1 >= confirmations": "head.number - blockNumber + 2 >= confirmations",
    },
  },
  "facilitator/settlement/track/decision.ts": {
    "a transaction is not sent again": { 'return resends ? { kind: "resend" } : wait;': "return wait;" },
    "the fee is never raised": { "entry.attempts.length < attemptsMax": "entry.attempts.length < 0" },
    "a reverted transaction counts as settled": { "if (receipt.status !== 1) return false;": "" },
    "a settlement ends although another of its transactions is pending": {
      "receipts.length > 0 && !mayStillSettle": "receipts.length > 0",
    },
    "a settlement expires before its authorization": {
      "entry.settlement.validBefore + expiryMarginSeconds": "entry.settlement.validBefore - expiryMarginSeconds",
    },
    "all payments of a batch are settled if its transaction is": {
      "return !isShared || showsSharedTransfer(receipt, settlement);": "return true;",
    },
  },
  "facilitator/settlement/track/diagnosis.ts": {
    "a missing receipt counts as a failure": {
      'if (cause === "lost") return { kind: "send_anew", hasLackedGas: false };': "",
    },
    "a third party's transaction needs no confirmations": {
      "!isConfirmed(use.receipt, head, { confirmations })": "false",
    },
    "a third party's transaction counts as a failure": { "use?.isPaid === true": "use === null" },
    "a lagging node decides a payment's outcome": {
      'if (minedTransactions.includes(false)) return { kind: "uncertain" };': "",
    },
  },
  "facilitator/settlement/submit/sign-batch.ts": {
    "a failing payment reverts its batch": {
      "encodeBatch(entries, { mayFail: true })": "encodeBatch(entries, { mayFail: false })",
    },
  },
  "facilitator/settlement/ownership.ts": {
    "every caller is told of a success": { "if (!isOwner) return duplicateResult;": "" },
    "an owned settlement gets another owner": {
      "AND (owner IS NULL OR owner = $3)": "AND (owner IS NULL OR owner <> '')",
    },
  },
  "facilitator/settlement/payer-funds.ts": {
    "nothing is reserved for a settlement in flight": { "account.reserved += spending.amount;": "" },
    "amounts spent since a balance was read are forgotten": {
      "if (account.balance !== undefined) account.balance.spent += spending.amount;": "",
    },
    "approvals of one payer are settled at the same time": {
      "account.approving > 0 || (approves && account.reserved > 0n)": "approves && account.reserved < 0n",
    },
  },
  "facilitator/settlement/submit/signer-queues.ts": {
    "any account settles a payment that specifies one": { "namedSigner === undefined ? accounts": "true ? accounts" },
    "all accounts share one nonce count": {
      "const accounts = signers.map(": "const shared = createNonceAllocator();\n  const accounts = signers.map(",
      "const nonces = createNonceAllocator();": "const nonces = shared;",
    },
  },
  "facilitator/settlement/submit/batch-planner.ts": {
    "indistinguishable Permit2 payments share a transaction": {
      "!batch.entries.some((other) => areIndistinguishable(other.settlement, entry.settlement))": "true",
    },
  },
  "facilitator/settlement/start-engine.ts": {
    "all chains share one ledger": { "createLedger(context,": "createLedger({ ...context, chainId: 31_337 }," },
  },
};
