import type { LogEventTable } from "./event-row.ts";

/** Events of the facilitator and the resource server. */
export const paymentEvents = {
  sold: { level: "info", means: "A paid response is being sent to its client." },
  "sale-pending": {
    level: "warn",
    means: "The response is ready, but the payment is not on the chain yet; the client gets it on retry.",
    runbook: "settlement-stuck",
  },
  "sale-without-verdict": {
    level: "warn",
    means: "The facilitator gave no verdict on a payment; the client may send it again.",
    runbook: "service-down",
  },
  "sale-without-ledger": {
    level: "warn",
    means: "A payment got 503 because the ledger was unavailable.",
    act: "Check the resource server's database.",
    runbook: "service-down",
  },
  "sale-failed": {
    level: "warn",
    means: "The upstream returned nothing to sell; nobody was charged.",
    act: "Check the route's upstream.",
    runbook: "service-down",
  },
  "payment-refused": {
    level: "info",
    means: "A payment does not match what is sold; `gatehouse.reason` has the cause.",
    runbook: "rejections-unusual",
  },
  "delivery-interrupted": {
    level: "warn",
    means: "The client did not receive its response; the same payment gets it again.",
    act: "No action needed.",
  },
  "delivery-not-recorded": {
    level: "error",
    means: "A completed delivery can't be recorded; the same payment could get its response again.",
    act: "Check the resource server's database.",
    runbook: "service-down",
  },
  "claims-released": {
    level: "warn",
    means: "Payments in progress when a process exited may be used again.",
    act: "Find out why that process exited.",
    runbook: "service-down",
  },
  "ledger-recovered": { level: "info", means: "The ledger responds again." },
  "ledger-lost": {
    level: "warn",
    means: "The ledger is not responding; payments get 503.",
    act: "Check its database.",
    runbook: "service-down",
  },
  "replicas-not-notified": {
    level: "warn",
    means: "Other replicas could not be notified that this one stopped; they detect it within seconds.",
    act: "No action needed.",
  },
  "settlements-not-resumed": {
    level: "error",
    means: "Earlier settlements, or those requested by other replicas, can't be resumed; this is retried.",
    runbook: "settlement-stuck",
  },
  "facilitator-available": { level: "info", means: "The facilitator responds and settles what is sold." },
  "facilitator-unavailable": {
    level: "warn",
    means: "The facilitator is not responding, or does not settle what is sold.",
    runbook: "service-down",
  },
  "settle-answered": {
    level: "info",
    means: "The facilitator responded to `/settle`; `gatehouse.state` is the outcome.",
  },
  "verdict-without-chain": {
    level: "warn",
    means: "The chain gave no verdict on a payment; the caller gets 500 or 503.",
    runbook: "node-down",
  },
  "verdict-without-ledger": {
    level: "warn",
    means: "A payment could not be verified because the ledger is unavailable.",
    act: "Check the facilitator's database.",
    runbook: "service-down",
  },
  "verdict-failed": {
    level: "error",
    means: "A payment could not be verified because of an internal error in the facilitator.",
    act: "Report it as a bug, with the stack.",
    runbook: "rejections-unusual",
  },
  "settling-payments": {
    level: "info",
    means: "The facilitator is ready to settle; the line has its signer and network.",
  },
  "settlements-resumed": { level: "info", means: "Earlier settlements are tracked." },
  "settlements-tracked-again": { level: "info", means: "Pending settlements are tracked again." },
  "settlements-not-tracked": {
    level: "warn",
    means: "The chain can't be queried for pending settlements; this is retried.",
    runbook: "settlement-stuck",
  },
  "settlements-not-sent": {
    level: "error",
    means: "Transactions could not be signed, recorded or sent.",
    runbook: "settlement-stuck",
  },
  "settlements-deleted": { level: "info", means: "Settlements older than `retentionDays` were deleted." },
  "settlements-not-deleted": {
    level: "error",
    means: "Old settlements can't be deleted; this is retried in ten minutes.",
    act: "Check the facilitator's database.",
  },
  "settlement-diagnosed": {
    level: "warn",
    means: "A transaction got no receipt in time; the facilitator is looking for its outcome.",
    runbook: "settlement-stuck",
  },
  "settlement-lacked-gas": {
    level: "warn",
    means: "A transaction ran out of its estimated gas; it is resent once with the max gas per settlement.",
    act: "If it recurs often, raise `settlement.gasMarginPercent`.",
  },
  "payments-suspended": {
    level: "warn",
    means:
      "A transaction failed that the chain had accepted in a simulation, so it cost gas for nothing: payments of the payer are rejected for one minute, and twice as long after each further failure; those of the token, if the payer did nothing meanwhile.",
    act: "If it is a token, remove it from `assets`, unless its operator can explain it.",
  },
  "transaction-unanswered": {
    level: "warn",
    means: "The node did not report whether it accepted a transaction; it is resent.",
    runbook: "settlement-stuck",
  },
  "transaction-nonce-taken": {
    level: "warn",
    means: "Another transaction used this nonce; the payment is signed again with the next one.",
    act: "Use the facilitator's signer for nothing else.",
    runbook: "settlement-stuck",
  },
  "transaction-refused": {
    level: "warn",
    means: "The node rejected a transaction; `gatehouse.answer` has its message.",
    runbook: "settlement-stuck",
  },
  "transactions-missing": {
    level: "warn",
    means: "Earlier transactions of the signer are missing on the chain, as after a rollback; ours are signed again.",
    runbook: "settlement-stuck",
  },
  "term-started": { level: "info", means: "This replica is now the one that settles." },
  "term-ended": { level: "info", means: "This replica no longer settles." },
  "settling-failed": {
    level: "error",
    means: "Settling on this replica failed; it is retried.",
    runbook: "facilitator-no-leader",
  },
  "signer-unusable": {
    level: "warn",
    means:
      "A signer can't pay the gas of a settlement, or its key does not sign; the others settle. Without any, no payment is verified, requested or settled.",
    act: "Do what the line says: send the account native currency, or restore access to its key.",
    runbook: "signer-low",
  },
  "signers-removed": {
    level: "warn",
    means:
      "Transactions of accounts that are no longer signers are in flight; they are tracked, but their fees can't be raised.",
    act: "If they take too long, configure the accounts' keys again until nothing is in flight.",
    runbook: "settlement-stuck",
  },
  "signer-usable": { level: "info", means: "The signer settles again.", act: "No action needed." },
  "node-failed": {
    level: "warn",
    means: "A node in chain.rpcUrl or chain.fallbackRpcUrls failed a request; the next one is used until it responds.",
    runbook: "node-down",
  },
  "node-recovered": {
    level: "info",
    means: "A failed node responds again, on the right chain.",
    act: "No action needed.",
  },
  "node-wrong-chain": {
    level: "error",
    means: "A node in chain.fallbackRpcUrls is on another chain and is not used.",
    act: "Correct chain.fallbackRpcUrls.",
  },
  "chain-unusable": {
    level: "warn",
    means: "The chain can't be queried; this is retried.",
    runbook: "node-down",
  },
  "chain-unexpected": {
    level: "error",
    means: "The chain does not match the settings.",
    act: "Correct the URL, the chain ID or the token in the settings.",
    runbook: "service-down",
  },
  "ledger-mismatch": {
    level: "error",
    means: "The ledger lists a payment as settled, but it is not on the chain.",
    runbook: "ledger-mismatch",
  },
  "ledger-node-behind": {
    level: "error",
    means: "The ledger lists a payment as settled, but the node, which lags behind, does not have it yet.",
    runbook: "ledger-mismatch",
  },
  "ledger-not-reconciled": {
    level: "warn",
    means: "The ledger can't be reconciled with the chain; this is retried.",
    runbook: "ledger-not-reconciled",
  },
} as const satisfies LogEventTable;
