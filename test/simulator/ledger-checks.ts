import type { DatabaseSync } from "node:sqlite";
import type { Migrations } from "#daemon/sql/sqlite.ts";
import { sqliteLedgerMigrations } from "#facilitator/settlement/ledger/schema.ts";
import type { Hex } from "#x402/hex.ts";
import { findCalled } from "./signed-offers.ts";
import { getChain, type VirtualChains } from "./virtual-chain.ts";
import { findTransfers, isUndone } from "./watcher.ts";
import type { World } from "./world.ts";

/** The ledger's tables, and a journal of each transaction ever recorded and each settlement that got a second outcome. */
export const journaledLedger: Migrations = [
  ...sqliteLedgerMigrations,
  `CREATE TABLE recorded (hash TEXT PRIMARY KEY);
   CREATE TRIGGER record AFTER INSERT ON attempt BEGIN INSERT OR IGNORE INTO recorded VALUES (new.hash); END;
   CREATE TABLE refinished (id TEXT);
   CREATE TRIGGER refinish AFTER UPDATE OF state ON settlement WHEN old.state <> 'begun'
     BEGIN INSERT INTO refinished VALUES (old.id); END`,
];

/** At the end of a run, checks a ledger against the chains. */
export function checkLedger(database: DatabaseSync, { report }: World, chains: VirtualChains): void {
  for (const { id } of database.prepare("SELECT id FROM refinished").all())
    report(`the settlement ${String(id)} got a second outcome`);
  const settlements = database.prepare(
    "SELECT id, chain_id, state, contract, call_data, transaction_hash FROM settlement",
  );
  for (const { id, chain_id: chain, state, contract, call_data: data, transaction_hash: hash } of settlements.all()) {
    const paying = findCalled({ to: String(contract) as Hex, data: String(data) as Hex });
    const name = paying?.offer.name ?? `the settlement ${String(id)}`;
    if (state === "begun") report(`${name} is in flight for ever`);
    if (paying !== undefined && isUndone(chains, paying.offer)) continue;
    const transfers = paying === undefined ? [] : findTransfers(chains, paying.offer);
    if (state === "failed" && transfers.length > 0) report(`${name} is charged, and failed in the ledger`);
    if (state !== "settled") continue;
    const { blocks } = getChain(chains, Number(chain));
    const mined = blocks.flatMap(({ included }) => included).find(({ transaction }) => transaction.hash === hash);
    const isCharged = paying === undefined || transfers.some(({ transaction }) => transaction === hash);
    if (mined?.revert !== undefined || mined === undefined || !isCharged)
      report(`${name} is settled in the ledger by a transaction that did not charge it`);
  }
}
