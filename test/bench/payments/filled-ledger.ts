import { openSqlite } from "#daemon/sql/sqlite.ts";
import { sqliteLedgerMigrations } from "#facilitator/settlement/ledger/schema.ts";
import { testAccount } from "../../support/payments/payment-chain.ts";
import type { SideLocation } from "./sides.ts";

/** Settlements ended between the default retention and an hour ago: later ones would be compared with the chain, which lacks them. */
const [oldestMs, newestMs] = [89 * 86_400_000, 3_600_000];
const payers = 100_000;

/** Spreads numbers over all keys, as hashes are; unique up to 2^32. */
const spread = (number: string, prefix = "0x") =>
  `printf('${prefix}%08x%056x', (${number}) * 2654435761 % 4294967296, ${number})`;

/** Every other payment has its own transaction; the others share one per ten payments, whose bytes are stored once. */
const transaction = "iif(n % 2 = 0, n, n / 20 * 20 + 1)";
const batchIndex = "iif(n % 2 = 0, 0, n / 2 % 10)";
const randomHex = (bytes: number) => `lower(hex(randomblob(${bytes})))`;

/** Creates a facilitator's ledger with settled payments of the last three months. */
export function fillLedger(path: string, payments: number, { token }: Pick<SideLocation, "token">): void {
  const database = openSqlite(path, sqliteLedgerMigrations);
  const finished = `${Date.now() - oldestMs} + n * ${Math.floor((oldestMs - newestMs) / payments)}`;
  const [asset, payTo] = [token.toLowerCase(), testAccount(2).address];
  const numbers = `WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${payments - 1})`;
  database.exec(`PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000;
    BEGIN;
    ${numbers} INSERT INTO settlement (chain_id, id, asset, nonce_space, contract, payer, pay_to, amount, authorization_nonce,
        valid_before, call_data, begun_at_ms, state, transaction_hash, finished_at_ms, owner)
      SELECT 1672, ${spread("n")}, '${asset}', '${asset}', '${asset}', printf('0x%040x', n % ${payers}), '${payTo}', '10000',
        ${spread("n")}, '2000000000', '0xe3ee160e' || ${randomHex(288)}, ${finished} - 2000, 'settled',
        ${spread(transaction)}, ${finished}, 'sale:' || ${spread("n", "")} FROM numbers;
    ${numbers} INSERT INTO attempt (chain_id, settlement_id, hash, signer, nonce, raw_transaction, max_fee_per_gas,
        max_priority_fee_per_gas, signed_at_ms, batch_index, batch_size)
      SELECT 1672, ${spread("n")}, ${spread(transaction)}, printf('0x%040x', 7), ${transaction},
        iif(n % 2 = 0, '0x02' || ${randomHex(420)}, iif(${batchIndex} = 0, '0x02' || ${randomHex(4_200)}, '')),
        '1000000000', '1', ${finished} - 1000, ${batchIndex}, iif(n % 2 = 0, 1, 10) FROM numbers;
    COMMIT;
    PRAGMA journal_mode = WAL;`);
  database.close();
}
