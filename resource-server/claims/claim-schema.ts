import type { Migrations } from "#daemon/sql/sqlite.ts";

/**
 * The ledger's tables in SQLite; append only. `body` and `payload` are there only while they are needed: they are what was bought,
 * and a signature. `owner` is the process that works on a claim or delivers it; `claim_owner` has the processes that live.
 */
export const sqliteClaimMigrations: Migrations = [
  `CREATE TABLE claims (
     network TEXT NOT NULL,
     asset TEXT NOT NULL,
     payer TEXT NOT NULL,
     nonce TEXT NOT NULL,
     state TEXT NOT NULL CHECK (state IN ('working', 'settling', 'settled', 'delivered')),
     route TEXT NOT NULL,
     fingerprint TEXT NOT NULL,
     digest TEXT NOT NULL,
     payload TEXT,
     requirements TEXT NOT NULL,
     valid_before INTEGER NOT NULL,
     status INTEGER,
     headers TEXT,
     body BLOB,
     settlement TEXT,
     updated_at_ms INTEGER NOT NULL,
     PRIMARY KEY (network, asset, payer, nonce)
   ) STRICT;
   CREATE INDEX claims_by_state ON claims (state, updated_at_ms)`,
  `ALTER TABLE claims ADD COLUMN owner TEXT;
   CREATE INDEX claims_by_owner ON claims (owner) WHERE owner IS NOT NULL;
   CREATE TABLE claim_owner (id TEXT PRIMARY KEY, expires_at_ms INTEGER NOT NULL) STRICT`,
  `ALTER TABLE claims ADD COLUMN idempotency_key TEXT;
   UPDATE claims SET idempotency_key = lower(hex(randomblob(16)))`,
];

/** The same tables in PostgreSQL; append only. */
export const postgresClaimMigrations: Migrations = [
  `CREATE TABLE claims (
     network text NOT NULL,
     asset text NOT NULL,
     payer text NOT NULL,
     nonce text NOT NULL,
     state text NOT NULL CHECK (state IN ('working', 'settling', 'settled', 'delivered')),
     route text NOT NULL,
     fingerprint text NOT NULL,
     digest text NOT NULL,
     payload text,
     requirements text NOT NULL,
     valid_before bigint NOT NULL,
     status integer,
     headers text,
     body bytea,
     settlement text,
     updated_at_ms bigint NOT NULL,
     owner text,
     PRIMARY KEY (network, asset, payer, nonce)
   );
   CREATE INDEX claims_by_state ON claims (state, updated_at_ms);
   CREATE INDEX claims_by_owner ON claims (owner) WHERE owner IS NOT NULL;
   CREATE TABLE claim_owner (id text PRIMARY KEY, expires_at_ms bigint NOT NULL)`,
  // The default is for replicas of the version before, which go on for a while.
  `ALTER TABLE claims ADD COLUMN idempotency_key text NOT NULL DEFAULT gen_random_uuid()::text`,
];
