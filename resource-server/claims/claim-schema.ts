import type { PaymentPayload, PaymentRequirements, SettleResponse } from "@x402/core/types";
import { z } from "zod";
import type { Migrations } from "#daemon/sql/sqlite.ts";
import type { ClaimKey, FoundClaim, PaymentClaim, SoldResponse } from "./payment-claim.ts";

type Types = Readonly<{ integer: "INTEGER" | "bigint"; bytes: "BLOB" | "bytea" }>;

/** `body` and `payload` (with a signature) are retained only while needed; `claim_owner` lists the live processes. */
const createClaims = ({ integer, bytes }: Types, ownerColumn = "") => `CREATE TABLE claims (
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
     valid_before ${integer} NOT NULL,
     status INTEGER,
     headers TEXT,
     body ${bytes},
     settlement TEXT,
     updated_at_ms ${integer} NOT NULL,
     ${ownerColumn}
     PRIMARY KEY (network, asset, payer, nonce)
   )`;
const indexStates = "CREATE INDEX claims_by_state ON claims (state, updated_at_ms)";
const createOwners = ({ integer }: Types) => `CREATE INDEX claims_by_owner ON claims (owner) WHERE owner IS NOT NULL;
   CREATE TABLE claim_owner (id TEXT PRIMARY KEY, expires_at_ms ${integer} NOT NULL)`;

/** Migrations common to both databases. Channels: amounts are decimal text; see `channel-ledger.ts`. */
const addLaterColumns = ({ integer }: Types): Migrations => [
  "CREATE INDEX claims_with_response ON claims (state, updated_at_ms) WHERE status IS NOT NULL",
  "ALTER TABLE claims ADD COLUMN holder TEXT",
  // A payer's identifier buys only once (x402 extension `payment-identifier`).
  `ALTER TABLE claims ADD COLUMN identifier TEXT;
   CREATE UNIQUE INDEX claims_by_identifier ON claims (payer, identifier) WHERE identifier IS NOT NULL`,
  "ALTER TABLE claims ADD COLUMN amount TEXT",
  // Covers the queries about retained responses, which run every few seconds, so that they don't read large rows.
  `DROP INDEX claims_with_response;
   CREATE INDEX claims_by_response ON claims (state, valid_before, updated_at_ms, payer, (length(body)), status) WHERE status IS NOT NULL`,
  `CREATE TABLE channels (
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
   CREATE INDEX channels_owed ON channels (owed_since_ms) WHERE owed_since_ms IS NOT NULL`,
  `ALTER TABLE channels ADD COLUMN rejected_at_ms ${integer}`,
  "ALTER TABLE channels ADD COLUMN rejected_claims INTEGER NOT NULL DEFAULT 0",
  "ALTER TABLE channels ADD COLUMN adopted TEXT NOT NULL DEFAULT '0'",
];

const sqlite: Types = { integer: "INTEGER", bytes: "BLOB" };
const postgres: Types = { integer: "bigint", bytes: "bytea" };

export const sqliteClaimMigrations: Migrations = [
  `${createClaims(sqlite)} STRICT; ${indexStates}`,
  `ALTER TABLE claims ADD COLUMN owner TEXT; ${createOwners(sqlite)} STRICT`,
  `ALTER TABLE claims ADD COLUMN idempotency_key TEXT;
   UPDATE claims SET idempotency_key = lower(hex(randomblob(16)))`,
  ...addLaterColumns(sqlite),
];

/** The same tables in PostgreSQL; append-only. */
export const postgresClaimMigrations: Migrations = [
  `${createClaims(postgres, "owner TEXT,")}; ${indexStates}; ${createOwners(postgres)}`,
  // The default serves replicas of the previous version, which keep running for a while.
  `ALTER TABLE claims ADD COLUMN idempotency_key text NOT NULL DEFAULT gen_random_uuid()::text`,
  ...addLaterColumns(postgres),
];

const json = <Value>() => z.string().transform((text) => JSON.parse(text) as Value);
const toUndefined = <Value>(value: Value | null): Value | undefined => value ?? undefined;

const keyRow = z.object({ network: z.string(), asset: z.string(), payer: z.string(), nonce: z.string() });

const row = keyRow.extend({
  state: z.enum(["working", "settling", "settled", "delivered"]),
  route: z.string(),
  fingerprint: z.string(),
  digest: z.string(),
  payload: json<PaymentPayload>().nullable(),
  requirements: json<PaymentRequirements>(),
  idempotency_key: z.string(),
  valid_before: z.number(),
  settlement: json<SettleResponse>().nullable(),
  holder: z.string().nullable(),
  amount: z.string().nullable(),
});

export const foundClaimColumns = `${Object.keys(row.shape).join(", ")},
  coalesce(length(body), 0) AS response_bytes, CASE WHEN status IS NULL THEN 0 ELSE 1 END AS has_response`;

const foundRow = row.extend({ response_bytes: z.number(), has_response: z.number() });
const fullRow = row.extend({
  status: z.number().nullable(),
  headers: json<SoldResponse["headers"]>().nullable(),
  body: z.instanceof(Uint8Array<ArrayBuffer>).nullable(),
});

export function parseClaimKey(raw: unknown): ClaimKey {
  return keyRow.parse(raw);
}

export function parseClaim(raw: unknown): PaymentClaim {
  const { status, headers, body, ...columns } = fullRow.parse(raw);
  const response = status === null || headers === null || body === null ? undefined : { status, headers, body };
  return { ...buildClaim(columns), response };
}

export function readFoundClaim(raw: unknown): FoundClaim {
  const { response_bytes: responseBytes, has_response: hasResponse, ...columns } = foundRow.parse(raw);
  return { ...buildClaim(columns), responseBytes, hasResponse: hasResponse === 1 };
}

function buildClaim(columns: z.output<typeof row>): Omit<PaymentClaim, "response"> {
  const { network, asset, payer, nonce, idempotency_key, valid_before, payload, settlement, holder, ...same } = columns;
  return {
    ...same,
    key: { network, asset, payer, nonce },
    amount: same.amount ?? same.requirements.amount,
    payload: toUndefined(payload),
    idempotencyKey: idempotency_key,
    validBefore: valid_before,
    holder: toUndefined(holder),
    settlement: toUndefined(settlement),
  };
}
