import type { FaultsByFile } from "./settlement-mutations.ts";

/** Faults of replicas, which runs with a single facilitator can't reveal. */
export const replicaMutations: FaultsByFile = {
  "facilitator/settlement/leader/shared-ledger.ts": {
    "a leader writes after its term": {
      "if ((await connection.rows(text, [chainId, term])).length === 0) throw new TermEndedError();":
        "await connection.rows(text, [chainId, term]);",
    },
    "another term begins between a leader's check and its writes": {
      "AND term = $2${store.lockRows}": "AND term = $2",
    },
    "a replica acquires the lease of another": {
      "WHERE settler.expires_at_ms < ${store.nowMs} OR settler.holder = excluded.holder": "WHERE true",
    },
    "a request is declined although a transaction was sent": {
      "connection.change(deleteChildlessSql, [chainId, id])":
        "connection.change(\"DELETE FROM settlement WHERE chain_id = $1 AND state = 'begun' AND id = $2\", [chainId, id])",
    },
    "a payment with the nonce of another counts as requested": {
      "if (conflicts.length > 0) return false;": "if (conflicts.length > 0) return true;",
    },
  },
  "facilitator/settlement/leader/term.ts": {
    "a request that has waited for a second is lost": {
      "leavingIds.has(id)) continue;": "leavingIds.has(id) || settlement.begunAtMs < clock() - 1_000) continue;",
    },
    "a leader continues after a write with an unknown outcome": { "if (isFault(error)) lose();": "" },
    "a leader sends after its term": {
      "if (isLost) throw new TermEndedError();\n      return context.chain.send(raw);":
        "return context.chain.send(raw);",
    },
    "a leader sends a payment that another replica checked long ago": {
      "(isSimulated ? await recheck() : undefined) ??": "",
    },
  },
  "facilitator/settlement/leader/leader-election.ts": {
    "a leader trusts its lease for longer than it lasts": { "leaseTrustMs = 3_500": "leaseTrustMs = 5_500" },
    "a leader does not renew its lease": { "() => lease.renew(number)": "async () => true" },
  },
  "facilitator/settlement/leader/shared-settler.ts": {
    "a sale gets the success of another sale's request": { "isOwner && result.owner === caller.owner": "isOwner" },
    "every caller owns a request": {
      "const isOwner = await ownership.acquire(id, caller.owner);":
        "await ownership.acquire(id, caller.owner); const isOwner = true;",
    },
    "a declined request counts as rejected": {
      "return settleDeclined(payment, requests, context);": 'return { state: "rejected", rejection: nonceUsed };',
    },
    "a payment that another replica has just settled is rejected": {
      "state = await onRecord(payment);\n          if (state === undefined) return { state": "return { state",
    },
  },
};
