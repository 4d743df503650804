import type { LogEventTable } from "./event-row.ts";

/** Events of the facilitator and the resource server. */
export const paymentEvents = {
  sold: { level: "info", means: "A paid response goes to its client." },
  "sale-pending": {
    level: "warn",
    means: "The response is ready, and the payment not yet on the chain: the client gets it when it tries again.",
    runbook: "settlement-stuck",
  },
  "sale-without-verdict": {
    level: "warn",
    means: "The facilitator gave no verdict on a payment; the client may send it again.",
    runbook: "service-down",
  },
  "sale-without-ledger": {
    level: "warn",
    means: "A payment was answered 503 because the ledger could not be used.",
    act: "Look at the database of the resource server.",
    runbook: "service-down",
  },
  "sale-failed": {
    level: "warn",
    means: "The upstream gave nothing to sell; nobody paid.",
    act: "Look at the upstream of the route.",
    runbook: "service-down",
  },
  "payment-refused": {
    level: "info",
    means: "A payment is not good for what is sold; `gatehouse.reason` says why.",
    runbook: "rejections-unusual",
  },
  "delivery-broken": {
    level: "warn",
    means: "The client did not take its response; the same payment gets it again.",
    act: "Nothing.",
  },
  "delivery-not-recorded": {
    level: "error",
    means: "The end of a delivery can't be recorded: the same payment could get its response once more.",
    act: "Look at the database of the resource server.",
    runbook: "service-down",
  },
  "claims-released": {
    level: "warn",
    means: "Payments that a process was working on when it ended may be used again.",
    act: "Find out why that process ended.",
    runbook: "service-down",
  },
  "ledger-answers": { level: "info", means: "The ledger answers again." },
  "ledger-lost": {
    level: "warn",
    means: "The ledger does not answer; payments are answered 503.",
    act: "Look at its database.",
    runbook: "service-down",
  },
  "replicas-not-told": {
    level: "warn",
    means: "Other replicas could not be notified of this one's end; they notice in a few seconds.",
    act: "Nothing.",
  },
  "settlements-not-taken-up": {
    level: "error",
    means: "Settlements that were begun before, or requested by other replicas, can't be resumed; it is tried again.",
    runbook: "settlement-stuck",
  },
  "facilitator-fit": { level: "info", means: "The facilitator answers and settles what is sold." },
  "facilitator-unfit": {
    level: "warn",
    means: "The facilitator does not answer, or does not settle what is sold.",
    runbook: "service-down",
  },
  "settle-answered": {
    level: "info",
    means: "The facilitator has answered `/settle`; `gatehouse.state` is the outcome.",
  },
  "verdict-without-chain": {
    level: "warn",
    means: "The chain gave no verdict on a payment; the caller is answered 500 or 503.",
    runbook: "node-down",
  },
  "verdict-without-ledger": {
    level: "warn",
    means: "A payment could not be judged because the ledger can't be used.",
    act: "Look at the database of the facilitator.",
    runbook: "service-down",
  },
  "verdict-failed": {
    level: "error",
    means: "A payment could not be judged by the facilitator's own fault.",
    act: "Report it as a bug, with the stack.",
    runbook: "rejections-unusual",
  },
  "settling-payments": { level: "info", means: "The facilitator is ready to settle; signer and network are named." },
  "settlements-taken-up": { level: "info", means: "Settlements that were begun before are followed." },
  "settlements-followed-again": { level: "info", means: "Pending settlements are followed again." },
  "settlements-not-followed": {
    level: "warn",
    means: "The chain can't be queried about pending settlements; it is tried again.",
    runbook: "settlement-stuck",
  },
  "settlements-not-sent": {
    level: "error",
    means: "Transactions could not be signed, recorded or sent.",
    runbook: "settlement-stuck",
  },
  "settlements-forgotten": { level: "info", means: "Settlements older than `retentionDays` were forgotten." },
  "settlements-not-forgotten": {
    level: "error",
    means: "Old settlements can't be forgotten; it is tried again in ten minutes.",
    act: "Look at the database of the facilitator.",
  },
  "settlement-diagnosed": {
    level: "warn",
    means: "A transaction has no receipt in its time; the facilitator looks for its outcome.",
    runbook: "settlement-stuck",
  },
  "settlement-lacked-gas": {
    level: "warn",
    means:
      "A transaction ran out of the gas that was estimated for it; it is sent once more, with the most that one may use.",
    act: "If it comes often, raise `settlement.gasMarginPercent`.",
  },
  "payments-suspended": {
    level: "warn",
    means:
      "A transaction failed that the chain had accepted in a simulation, so it cost gas for nothing: payments of the token, or of the payer, are rejected for one minute, and twice as long after each further failure.",
    act: "If it is a token, remove it from `assets`, unless its operator can explain it.",
  },
  "transaction-unanswered": {
    level: "warn",
    means: "The node did not say whether it took a transaction; it is sent again.",
    runbook: "settlement-stuck",
  },
  "transaction-nonce-taken": {
    level: "warn",
    means: "Another transaction has this nonce; the payment is signed again with the next one.",
    act: "Let nothing but the facilitator use its signer.",
    runbook: "settlement-stuck",
  },
  "transaction-refused": {
    level: "warn",
    means: "The node refused a transaction; `gatehouse.answer` has its words.",
    runbook: "settlement-stuck",
  },
  "transactions-missing": {
    level: "warn",
    means: "Earlier transactions of the signer are missing on the chain, as after a roll-back; ours are signed again.",
    runbook: "settlement-stuck",
  },
  "term-begun": { level: "info", means: "This replica settles from now on." },
  "term-ended": { level: "info", means: "This replica settles no longer." },
  "settling-broken-off": {
    level: "error",
    means: "This replica's settling broke off; it is tried again.",
    runbook: "facilitator-no-leader",
  },
  "signer-unfunded": {
    level: "warn",
    means: "The signer can't pay for the gas of a settlement: no payment is verified, requested or settled.",
    act: "Send the account that the line names as much native currency as it says.",
    runbook: "signer-empty",
  },
  "signer-funded": { level: "info", means: "The signer can pay for gas again.", act: "Nothing." },
  "node-failed": {
    level: "warn",
    means: "A node of chain.rpcUrl or chain.fallbackRpcUrls failed a request; the next one is used until it responds.",
    runbook: "node-down",
  },
  "node-recovered": {
    level: "info",
    means: "A node that had failed responds again, on the right chain.",
    act: "Nothing.",
  },
  "node-wrong-chain": {
    level: "error",
    means: "A node of chain.fallbackRpcUrls is on another chain and is not used.",
    act: "Correct chain.fallbackRpcUrls.",
  },
  "chain-unusable": {
    level: "warn",
    means: "The chain can't be queried; it is looked at again.",
    runbook: "node-down",
  },
  "chain-unexpected": {
    level: "error",
    means: "The chain is not the one that the settings describe.",
    act: "Correct the URL, the chain's id or the token in the settings.",
    runbook: "service-down",
  },
  "ledger-mismatch": {
    level: "error",
    means: "The ledger says that a payment is settled, and the chain does not have it.",
    runbook: "ledger-mismatch",
  },
  "ledger-node-behind": {
    level: "error",
    means: "The ledger says that a payment is settled, and the node, which is behind, does not have it yet.",
    runbook: "ledger-mismatch",
  },
  "ledger-not-reconciled": {
    level: "warn",
    means: "The ledger can't be compared with the chain; it is tried again.",
    runbook: "ledger-not-reconciled",
  },
} as const satisfies LogEventTable;
