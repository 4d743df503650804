import type { Mutation } from "./mutation.ts";

const settler = "facilitator/settlement/settler.ts";
const ownership = "facilitator/settlement/ownership.ts";
const funds = "facilitator/settlement/payer-funds.ts";
const sale = "resource-server/sale/sale.ts";
const claimSettlement = "resource-server/sale/claim-settlement.ts";
const resumer = "resource-server/sale/settlement-resumer.ts";
const claims = "resource-server/claims/claim-ledger.ts";
const eip3009 = "x402/transfer-settling.ts";

/** Faults of a payment's ownership, its payer's funds, and what it buys. */
export const saleMutations: readonly Mutation[] = [
  // Ownership of a payment.
  {
    fault: "everybody is told a success",
    file: ownership,
    edits: { "if (!isOwner) return duplicate;": "" },
  },
  {
    fault: "the owner in the ledger is not read",
    file: settler,
    edits: { "if (recorded !== undefined) entry.owner = await resolveOwner(recorded, entry, ownership);": "" },
  },
  {
    fault: "a stranger's call hides whose payment it is",
    file: "facilitator/settlement/engine.ts",
    edits: { "running !== undefined && (running.unrecorded || running.signed)": "running !== undefined" },
    unnoticed: "no thief comes while the ledger is read, in so few runs; an earlier draw of worlds had one",
  },
  {
    fault: "an owned settlement gets another owner",
    file: ownership,
    edits: { "AND (owner IS NULL OR owner = $3)": "AND (owner IS NULL OR owner <> '')" },
    unnoticed: "no run of so few has it, of an earlier draw of worlds one had; ledger-contract.ts has it",
  },
  {
    fault: "two payments with the same nonce are sent",
    file: settler,
    edits: {
      'if (await ledger.hasConflict(entry.settlement)) return { state: "refused", refusal: nonceUsed };': "",
      "if (book.hasConflict(settlement)) return undefined;": "",
    },
  },
  // Funds of the payer.
  {
    fault: "nothing is reserved for a settlement in flight",
    file: funds,
    edits: { "account.reserved += spending.amount;": "" },
  },
  {
    fault: "what was spent since a balance was read is forgotten",
    file: funds,
    edits: { "if (account.balance !== undefined) account.balance.spent += spending.amount;": "" },
    unnoticed:
      "no buyer has three payments within two seconds one of which ends meanwhile; payer-funds.test.ts has one",
  },
  {
    fault: "a payment of less than the price is taken",
    file: eip3009,
    edits: { "if (value !== amount)": "if (value > amount)" },
  },
  {
    fault: "a payment to another payee is taken",
    file: eip3009,
    edits: { "if (to.toLowerCase() !== payTo.toLowerCase())": "if (to === payTo)" },
  },
  // Products of the resource server.
  {
    fault: "a payment is settled before its response is recorded",
    file: sale,
    edits: {
      "await ledger.settling(key,":
        'const early = await settleClaim({ ...begun, state: "settling", amount, response, settlement: undefined }, read, facilitation); await ledger.settling(key,',
      "await settleClaim(claim, read, facilitation, request.trace)": "early",
    },
  },
  {
    fault: "a claim is released while its settlement is pending",
    file: claimSettlement,
    edits: { "await ledger.pending(key, settlement);": "await ledger.release(key);" },
  },
  {
    fault: "a lost answer of the facilitator means that nothing was charged",
    file: claimSettlement,
    edits: { '"unreachable", "refused", "denied"': '"unreachable", "refused", "denied", "unknown"' },
  },
  {
    fault: "a claim is sold that is not settled",
    file: claimSettlement,
    edits: { 'return { kind: "pending", settlement };': "return createSoldOutcome({ ...claim, settlement }, parts);" },
  },
  {
    fault: "a restart releases claims that are being settled",
    file: claims,
    edits: {
      "DELETE FROM claims WHERE state = 'working' AND": "DELETE FROM claims WHERE state IN ('working', 'settling') AND",
    },
  },
  {
    fault: "any request gets the response of a payment",
    file: sale,
    edits: { "found.fingerprint !== request.fingerprint": "false" },
  },
  {
    fault: "any client gets a response that was delivered",
    file: sale,
    edits: { 'found.state === "delivered" && found.holder !== holder': "false" },
  },
  {
    fault: "one request works on a payment that another works on",
    file: sale,
    edits: {
      'if (!payments.acquire(key)) return { kind: "in-progress" };': "payments.acquire(key);",
      "if (!(await ledger.claim({ ...begun, identifier }))) return collect(key, request, parts);":
        "await ledger.claim({ ...begun, identifier });",
    },
  },
  {
    fault: "settlements without an outcome are not taken up",
    file: resumer,
    edits: { "await resumeSettlement(claim, parts);": "" },
  },
  {
    fault: "a nonce that is used means that a claim is paid",
    file: claimSettlement,
    edits: { 'transaction === "" ||': "" },
  },
];
