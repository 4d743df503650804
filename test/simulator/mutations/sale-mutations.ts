import type { FaultsByFile } from "./settlement-mutations.ts";

export const saleMutations: FaultsByFile = {
  "x402/transfer-settling.ts": {
    "a payment of less than the price is accepted": { "if (value !== amount)": "if (value > amount)" },
    "a payment to another payee is accepted": { "if (to.toLowerCase() !== payTo.toLowerCase())": "if (to === payTo)" },
    "a use of 0 is settled by a transaction": { "judged.amount === 0n": "false" },
  },
  "resource-server/sale/sale.ts": {
    "a payment is settled before its response is recorded": {
      "await ledger.settling(key,":
        'const early = await settleClaim({ ...begun, state: "settling", amount, response, settlement: undefined }, read, facilitation); await ledger.settling(key,',
      "await settleClaim(claim, read, facilitation, request.trace)": "early",
    },
    "any request gets the response of a payment": { "foundClaim.fingerprint !== request.fingerprint": "false" },
    "any client gets a response that was delivered": {
      'foundClaim.state === "delivered" && foundClaim.holder !== holder': "false",
    },
    "a request processes a payment that another request is processing": {
      'if (!payments.acquire(key)) return { kind: "in-progress" };': "payments.acquire(key);",
      "if (!(await ledger.claim({ ...startedClaim, identifier }))) return collect(key, request, parts);":
        "await ledger.claim({ ...startedClaim, identifier });",
    },
  },
  "resource-server/sale/claim-settlement.ts": {
    "an unsettled claim is delivered": {
      'return { kind: "pending", settlement };': "return createSoldOutcome({ ...claim, settlement }, parts);",
    },
    "a claim is released while its settlement is pending": {
      "await ledger.pending(key, settlement);": "await ledger.release(key);",
    },
    "a lost response of the facilitator counts as not charged": {
      '"unreachable", "rejected", "denied"': '"unreachable", "rejected", "denied", "unknown"',
    },
    "a used nonce means that a claim is paid": { 'transaction !== "" &&': "" },
    "the seller requests the maximum instead of the used amount": {
      "{ ...claim.requirements, amount: claim.amount }": "claim.requirements",
    },
  },
  "resource-server/claims/claim-ledger.ts": {
    "a restart releases claims that are being settled": {
      "DELETE FROM claims WHERE state = 'working' AND": "DELETE FROM claims WHERE state IN ('working', 'settling') AND",
    },
  },
  "resource-server/sale/resume-settlements.ts": {
    "settlements without an outcome are not resumed": { "await resumeSettlement(claim, parts);": "" },
  },
  "x402/permit2-terms.ts": {
    "the maximum is settled instead of the used amount": {
      "encodeSettle({ permit, amount, signature": "encodeSettle({ permit, amount: permit.amount, signature",
    },
    "a permit of less than the price is accepted": {
      "if (isMax || required === permitted) return undefined;": "if (isMax || required !== 0n) return undefined;",
    },
  },
  "facilitator/transfers.ts": {
    "a use of 0 is reported for a payment that is being settled": {
      "if ((await engine.progress(payment)) !== undefined) return this.settle(payment);": "",
    },
    "the contracts of a chain that was not checked count as missing": { "?? uncheckedContracts": "?? new Set()" },
  },
  "facilitator/chain/transfer-method.ts": {
    "payments that specify their account share transactions": {
      "isSameHex(contract, asset) || isSameHex(contract, permit2Proxies.exact)": "contract !== asset || true",
    },
    "the nonce of a Permit2 payment is looked up in the token": {
      "return false;\n  if (!usesPermit2(transfer)) {": "return false;\n  if (transfer !== undefined) {",
    },
  },
  "facilitator/chain/foreign-use.ts": {
    "any transfer of the same amount is mistaken for a Permit2 payment": {
      "isMade && makesSamePayment(transactionCall.input, transfer)": "transactionCall !== undefined",
    },
    "a Permit2 payment that a third party submitted is not found": {
      "isPaid: foreignUse !== undefined": "isPaid: false",
    },
  },
};
