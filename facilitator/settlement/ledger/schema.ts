import type { Migrations } from "#daemon/sql/sqlite.ts";
import { channelsAddress } from "#x402/batch-settlement/channel.ts";

const addNotePayer = `ALTER TABLE verification ADD COLUMN payer text;
   CREATE INDEX verification_by_payer ON verification (chain_id, payer)`;

/**
 * Meaning of a payer's payment-identifier, each settlement's seller and gas (wei, decimal text), a seller's gas per day
 * (UTC), and refunds with their signed transaction.
 */
const addSales = `CREATE TABLE identifier (
     chain_id bigint NOT NULL,
     payer text NOT NULL,
     id text NOT NULL,
     fingerprint text NOT NULL,
     at_ms bigint NOT NULL,
     PRIMARY KEY (chain_id, payer, id)
   );
   CREATE INDEX identifier_by_payer ON identifier (chain_id, payer, at_ms);
   CREATE INDEX identifier_by_time ON identifier (at_ms);
   CREATE TABLE sale (
     chain_id bigint NOT NULL,
     id text NOT NULL,
     seller text NOT NULL,
     at_ms bigint NOT NULL,
     gas_paid text,
     PRIMARY KEY (chain_id, id)
   );
   CREATE INDEX sale_by_time ON sale (at_ms);
   CREATE TABLE seller_day (
     chain_id bigint NOT NULL,
     seller text NOT NULL,
     day text NOT NULL,
     gas_paid text NOT NULL,
     dearest text NOT NULL,
     PRIMARY KEY (chain_id, seller, day)
   );
   CREATE TABLE refund (
     chain_id bigint NOT NULL,
     id text NOT NULL,
     amount text NOT NULL,
     state text NOT NULL CHECK (state IN ('sent', 'refunded', 'failed')),
     hash text NOT NULL,
     nonce bigint NOT NULL,
     raw_transaction text NOT NULL,
     at_ms bigint NOT NULL,
     PRIMARY KEY (chain_id, id),
     FOREIGN KEY (chain_id, id) REFERENCES settlement (chain_id, id) ON DELETE CASCADE
   )`;
/** Contract that moves the tokens, and the one that accepts a nonce once; earlier rows lack both. */
const addContracts = `ALTER TABLE settlement ADD COLUMN contract text;
   ALTER TABLE settlement ADD COLUMN nonce_space text;
   DROP INDEX settlement_authorization;
   CREATE UNIQUE INDEX settlement_authorization
     ON settlement (chain_id, (COALESCE(nonce_space, asset)), payer, authorization_nonce) WHERE state <> 'failed'`;

/** Deposits into channels, and the calls that move them, by token and seller; the address never changes. */
const indexChannels = `CREATE INDEX settlement_channel ON settlement (chain_id, asset, lower(pay_to), payer)
     WHERE contract = '${channelsAddress.toLowerCase()}'`;

const toPostgres = (definition: string) => definition.replaceAll(" INTEGER", " bigint").replaceAll(" STRICT", "");

const attemptColumns = `
     chain_id INTEGER NOT NULL,
     settlement_id text NOT NULL,
     hash text NOT NULL,
     signer text NOT NULL,
     nonce INTEGER NOT NULL,
     raw_transaction text NOT NULL,
     max_fee_per_gas text NOT NULL,
     max_priority_fee_per_gas text NOT NULL,
     signed_at_ms INTEGER NOT NULL`;

const attemptParent = `FOREIGN KEY (chain_id, settlement_id) REFERENCES settlement (chain_id, id) ON DELETE CASCADE`;

const indexAttempts = "CREATE INDEX attempt_settlement ON attempt (chain_id, settlement_id, signed_at_ms)";

/** Amounts are decimal text, because they may exceed 64 bits. */
const createSettlements = `CREATE TABLE settlement (
     chain_id INTEGER NOT NULL,
     id text NOT NULL,
     asset text NOT NULL,
     payer text NOT NULL,
     pay_to text NOT NULL,
     amount text NOT NULL,
     authorization_nonce text NOT NULL,
     valid_before text NOT NULL,
     call_data text NOT NULL,
     begun_at_ms INTEGER NOT NULL,
     state text NOT NULL CHECK (state IN ('begun', 'settled', 'failed')),
     transaction_hash text,
     reason text,
     message text,
     finished_at_ms INTEGER,
     PRIMARY KEY (chain_id, id)
   ) STRICT;
   CREATE UNIQUE INDEX settlement_authorization
     ON settlement (chain_id, asset, payer, authorization_nonce) WHERE state <> 'failed';
   CREATE INDEX settlement_begun ON settlement (chain_id, begun_at_ms) WHERE state = 'begun';
   CREATE INDEX settlement_finished ON settlement (finished_at_ms) WHERE state <> 'begun';
   CREATE TABLE attempt (
     ${attemptColumns},
     PRIMARY KEY (chain_id, hash),
     ${attemptParent}
   ) STRICT;
   ${indexAttempts}`;

/**
 * Tables through which several processes coordinate settlement. A started settlement without a transaction is a request, which the settling
 * replica executes. `unsent` records why a request failed, `settler` which replica settles on a chain.
 */
const createReplicas = `CREATE TABLE unsent (
     chain_id INTEGER NOT NULL,
     id text NOT NULL,
     message text NOT NULL,
     at_ms INTEGER NOT NULL,
     PRIMARY KEY (chain_id, id)
   ) STRICT;
   CREATE TABLE settler (
     chain_id INTEGER PRIMARY KEY,
     holder text NOT NULL,
     term INTEGER NOT NULL,
     expires_at_ms INTEGER NOT NULL
   ) STRICT`;

/** Settlements recorded before owners were may have paid for something, so they are closed. The first caller acquires those in flight. */
const addOwners = `ALTER TABLE settlement ADD COLUMN owner text;
   UPDATE settlement SET owner = 'closed' WHERE state = 'settled'`;

const createVerifications = `CREATE TABLE verification (
     chain_id INTEGER NOT NULL,
     id text NOT NULL,
     owner text NOT NULL,
     times INTEGER NOT NULL,
     at_ms INTEGER NOT NULL,
     PRIMARY KEY (chain_id, id, owner)
   ) STRICT;
   CREATE INDEX verification_by_time ON verification (at_ms)`;

/** Columns of `attempt` for a transaction with several settlements, whose bytes are stored once, with batch_index 0. */
const batchColumns = ["batch_index INTEGER NOT NULL DEFAULT 0", "batch_size INTEGER NOT NULL DEFAULT 1"];

/** Earlier rows lack the payee that signed. Two refunds with the same nonce could share a transaction, which would count for each. */
const addRefundSigner = `ALTER TABLE refund ADD COLUMN signer text;
   CREATE UNIQUE INDEX refund_nonce ON refund (chain_id, signer, nonce) WHERE state <> 'failed'`;

/** SQLite schema of the settlement ledger; append-only. */
export const sqliteLedgerMigrations: Migrations = [
  createSettlements,
  addOwners,
  createVerifications,
  createReplicas,
  addNotePayer,
  addSales,
  addContracts,
  // SQLite can't alter a primary key.
  `CREATE TABLE shared_attempt (
     ${attemptColumns},
     ${batchColumns.join(", ")},
     PRIMARY KEY (chain_id, hash, settlement_id),
     ${attemptParent}
   ) STRICT;
   INSERT INTO shared_attempt (chain_id, settlement_id, hash, signer, nonce, raw_transaction, max_fee_per_gas,
     max_priority_fee_per_gas, signed_at_ms)
     SELECT chain_id, settlement_id, hash, signer, nonce, raw_transaction, max_fee_per_gas, max_priority_fee_per_gas,
       signed_at_ms FROM attempt;
   DROP TABLE attempt;
   ALTER TABLE shared_attempt RENAME TO attempt;
   ${indexAttempts}`,
  indexChannels,
  addRefundSigner,
];

/** The same tables in PostgreSQL; append-only. */
export const postgresLedgerMigrations: Migrations = [
  toPostgres(`${createSettlements}; ${createReplicas}`),
  addOwners,
  toPostgres(createVerifications),
  addNotePayer,
  addSales,
  addContracts,
  `ALTER TABLE attempt DROP CONSTRAINT attempt_pkey;
   ALTER TABLE attempt ADD PRIMARY KEY (chain_id, hash, settlement_id);
   ALTER TABLE attempt ADD COLUMN ${toPostgres(batchColumns.join(", ADD COLUMN "))}`,
  indexChannels,
  addRefundSigner,
];
