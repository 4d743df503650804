import type { Mutation } from "./mutation.ts";

const transferMethod = "facilitator/chain/transfer-method.ts";
const foreignUse = "facilitator/chain/foreign-use.ts";
const transfers = "facilitator/transfers.ts";
const queues = "facilitator/settlement/submit/signer-queues.ts";
const permit2Terms = "x402/permit2-terms.ts";
const upto = "x402/transfer-settling.ts";

/** Faults of single payment kinds, and of what several accounts and chains share. */
export const kindMutations: readonly Mutation[] = [
  // The used part of a maximum.
  {
    fault: "the seller asks for the maximum instead of what was used",
    file: "resource-server/sale/claim-settlement.ts",
    edits: { "{ ...claim.requirements, amount: claim.amount }": "claim.requirements" },
  },
  {
    fault: "the maximum is settled instead of what was used",
    file: permit2Terms,
    edits: { "encodeSettle({ permit, amount, signature": "encodeSettle({ permit, amount: permit.amount, signature" },
  },
  {
    fault: "a use of nothing is settled by a transaction",
    file: upto,
    edits: { "judged.amount === 0n": "false" },
  },
  {
    fault: "a use of nothing is told of a payment that is being settled",
    file: transfers,
    edits: { "if ((await engine.progress(payment)) !== undefined) return this.settle(payment);": "" },
  },
  {
    fault: "a permit of less than the price is taken",
    file: permit2Terms,
    edits: {
      "if (isMax || required === permitted) return undefined;": "if (isMax || required !== 0n) return undefined;",
    },
  },
  {
    fault: "any account settles a payment that names one",
    file: queues,
    edits: { "named === undefined ? accounts": "true ? accounts" },
  },
  {
    fault: "payments that name their account share transactions",
    file: transferMethod,
    edits: { "isSameHex(contract, asset) || isSameHex(contract, permit2Proxies.exact)": "contract !== asset || true" },
    unnoticed: "such a transaction has no estimate, so that each payment goes alone",
  },
  // Permit2 and its approvals.
  {
    fault: "the nonce of a payment by Permit2 is looked up in the token",
    file: transferMethod,
    edits: { "return false;\n  if (!usesPermit2(transfer)) {": "return false;\n  if (transfer !== undefined) {" },
  },
  {
    fault: "any transfer of the same amount is taken for a payment by Permit2",
    file: foreignUse,
    edits: { "!isMade || !makesSamePayment(made.input, transfer)": "made === undefined" },
  },
  {
    fault: "a payment by Permit2 that somebody else submitted is not found",
    file: foreignUse,
    edits: { "return receipt && { receipt, isPaid: true };": "return receipt && { receipt, isPaid: false };" },
  },
  {
    fault: "payments by Permit2 that look the same share a transaction",
    file: "facilitator/settlement/submit/batch-planner.ts",
    edits: { "!batch.entries.some((other) => isIndistinguishable(other.settlement, entry.settlement))": "true" },
  },
  {
    fault: "approvals of one payer are settled at the same time",
    file: "facilitator/settlement/payer-funds.ts",
    edits: { "account.approving > 0 || (approves && account.reserved > 0n)": "approves && account.reserved < 0n" },
  },
  {
    fault: "the contracts of a chain that was not checked count as missing",
    file: transfers,
    edits: { "?? uncheckedContracts": "?? new Set()" },
  },
  // Several accounts and chains.
  {
    fault: "all accounts take their nonces from one count",
    file: queues,
    edits: {
      "const accounts = signers.map(": "const shared = createNonceAllocator();\n  const accounts = signers.map(",
      "const nonces = createNonceAllocator();": "const nonces = shared;",
    },
  },
  {
    fault: "a missing nonce is filled for the first account only",
    file: "facilitator/settlement/track/tracker.ts",
    edits: { "Promise.all([...queues.nonces].map(": "Promise.all([...queues.nonces].slice(0, 1).map(" },
    unnoticed: "no run of so few leaves a gap of a later account; tracker.test.ts has one",
  },
  {
    fault: "all chains have one ledger",
    file: "facilitator/settlement/start-engine.ts",
    edits: { "createLedger(context,": "createLedger({ ...context, chainId: 31_337 }," },
  },
];
