import type { PaymentPayload, PaymentRequirements, SettleResponse } from "@x402/core/types";
import { z } from "zod";
import type { Migrations } from "#daemon/sql/sqlite.ts";
import type { ClaimKey, FoundClaim, PaymentClaim, SoldResponse } from "./payment-claim.ts";

/** A payer's identifier buys only once (x402 extension `payment-identifier`). */
const addIdentifier = `ALTER TABLE claims ADD COLUMN identifier TEXT;
   CREATE UNIQUE INDEX claims_by_identifier ON claims (payer, identifier) WHERE identifier IS NOT NULL`;

/** Amount to settle, if it was less than the offer's maximum. */
const addAmount = "ALTER TABLE claims ADD COLUMN amount TEXT";

/**
 * Covers the queries for the number of retained bytes, their payers, and which expire first, without reading rows: they
 * run every few seconds, and a row with a retained response is large.
 */
const indexResponses = `DROP INDEX claims_with_response;
   CREATE INDEX claims_by_response ON claims (state, valid_before, updated_at_ms, payer, (length(body)), status) WHERE status IS NOT NULL`;

/**
 * Channels of scheme `batch-settlement`; see `channel-ledger.ts`. Amounts are decimal text. An owed channel has charges that are not
 * claimed.
 */
const addChannels = (integer: "INTEGER" | "bigint") => `CREATE TABLE channels (
     id TEXT PRIMARY KEY,
     network TEXT NOT NULL,
     config TEXT NOT NULL,
     charged TEXT NOT NULL,
     max_claimable TEXT,
     signature TEXT,
     sale TEXT,
     balance TEXT NOT NULL,
     claimed TEXT NOT NULL,
     withdraw_requested_at ${integer} NOT NULL,
     refund_nonce TEXT NOT NULL,
     synced_at_ms ${integer} NOT NULL,
     owed_since_ms ${integer},
     refund TEXT
   );
   CREATE INDEX channels_owed ON channels (owed_since_ms) WHERE owed_since_ms IS NOT NULL`;

/** When the chain last rejected a channel's claim; no more is sold to it until a claim is accepted. */
const addRejection = (integer: "INTEGER" | "bigint") => `ALTER TABLE channels ADD COLUMN rejected_at_ms ${integer}`;

/** Number of consecutive rejected claims of a channel, which determines the next one's delay. */
const addRejectedClaims = "ALTER TABLE channels ADD COLUMN rejected_claims INTEGER NOT NULL DEFAULT 0";

/** Highest total that the chain reported although this ledger had not charged it. */
const addAdopted = "ALTER TABLE channels ADD COLUMN adopted TEXT NOT NULL DEFAULT '0'";

/**
 * SQLite tables of the ledger; append-only. `body` (the purchased response) and `payload` (with a signature) are retained only while
 * needed. `owner` is the process that works on a claim or delivers it; `claim_owner` lists the live processes.
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
  "CREATE INDEX claims_with_response ON claims (state, updated_at_ms) WHERE status IS NOT NULL",
  "ALTER TABLE claims ADD COLUMN holder TEXT",
  addIdentifier,
  addAmount,
  indexResponses,
  addChannels("INTEGER"),
  addRejection("INTEGER"),
  addRejectedClaims,
  addAdopted,
];

/** The same tables in PostgreSQL; append-only. */
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
  // The default serves replicas of the previous version, which keep running for a while.
  `ALTER TABLE claims ADD COLUMN idempotency_key text NOT NULL DEFAULT gen_random_uuid()::text`,
  "CREATE INDEX claims_with_response ON claims (state, updated_at_ms) WHERE status IS NOT NULL",
  "ALTER TABLE claims ADD COLUMN holder TEXT",
  addIdentifier,
  addAmount,
  indexResponses,
  addChannels("bigint"),
  addRejection("bigint"),
  addRejectedClaims,
  addAdopted,
];

const keyColumns = z.object({ network: z.string(), asset: z.string(), payer: z.string(), nonce: z.string() });

const row = keyColumns.extend({
  state: z.enum(["working", "settling", "settled", "delivered"]),
  route: z.string(),
  fingerprint: z.string(),
  digest: z.string(),
  payload: z.string().nullable(),
  requirements: z.string(),
  idempotency_key: z.string(),
  valid_before: z.number(),
  status: z.number().nullable(),
  headers: z.string().nullable(),
  body: z.instanceof(Uint8Array<ArrayBuffer>).nullable(),
  settlement: z.string().nullable(),
  holder: z.string().nullable(),
  amount: z.string().nullable(),
});

/** Columns of table `claims` that {@link readFoundClaim} reads. */
export const foundClaimColumns =
  "network, asset, payer, nonce, state, route, fingerprint, digest, payload, requirements, idempotency_key, valid_before, " +
  "settlement, holder, amount, coalesce(length(body), 0) AS response_bytes, CASE WHEN status IS NULL THEN 0 ELSE 1 END AS has_response";

const foundRow = row
  .omit({ status: true, headers: true, body: true })
  .extend({ response_bytes: z.number(), has_response: z.number() });

/** Parses a claim's key from a row of table `claims`. */
export function parseClaimKey(raw: unknown): ClaimKey {
  return keyColumns.parse(raw);
}

/** Parses a claim from a row of table `claims`. */
export function parseClaim(raw: unknown): PaymentClaim {
  const columns = row.parse(raw);
  return { ...withoutResponse(columns), response: parseResponse(columns) };
}

/** Reads a claim without its response from a row of {@link foundClaimColumns}. */
export function readFoundClaim(raw: unknown): FoundClaim {
  const columns = foundRow.parse(raw);
  const { response_bytes: responseBytes, has_response: hasResponse } = columns;
  return { ...withoutResponse(columns), responseBytes, hasResponse: hasResponse === 1 };
}

function withoutResponse(
  found: Omit<z.output<typeof foundRow>, "response_bytes" | "has_response">,
): Omit<PaymentClaim, "response"> {
  const { network, asset, payer, nonce, state, route, fingerprint, digest, ...columns } = found;
  const requirements = JSON.parse(columns.requirements) as PaymentRequirements;
  return {
    key: { network, asset, payer, nonce },
    state,
    amount: columns.amount ?? requirements.amount,
    route,
    fingerprint,
    digest,
    payload: columns.payload === null ? undefined : (JSON.parse(columns.payload) as PaymentPayload),
    requirements,
    idempotencyKey: columns.idempotency_key,
    validBefore: columns.valid_before,
    holder: columns.holder ?? undefined,
    settlement: columns.settlement === null ? undefined : (JSON.parse(columns.settlement) as SettleResponse),
  };
}

type ResponseColumns = Pick<z.output<typeof row>, "status" | "headers" | "body">;

function parseResponse({ status, headers, body }: ResponseColumns): SoldResponse | undefined {
  if (status === null || headers === null || body === null) return undefined;
  return { status, headers: JSON.parse(headers) as SoldResponse["headers"], body };
}
