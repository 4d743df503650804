import type { Migrations } from "#daemon/sqlite.ts";

/** The ledger's tables. `body` and `payload` are there only while they are needed: they are what was bought, and a signature. */
export const claimMigrations: Migrations = [
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
];
