import type { SqlRow, SqlStore } from "#daemon/sql/store.ts";
import { channelsAddress } from "#x402/batch-settlement/channel.ts";
import type { Hex } from "#x402/hex.ts";
import { permit2Address } from "#x402/permit2.ts";
import type { Attempt, RecordedSettlement, Settlement } from "../settlement.ts";
import { readAttempts, toRecordedSettlement, toSettlement } from "./rows.ts";

type Options = Readonly<{ chainId: number }>;
type Dependencies = Readonly<{ store: Pick<SqlStore, "rows" | "isListed"> }>;

/** A settlement recorded as settled, its successful transaction, and the time of the record, in milliseconds since 1970. */
export type FinishedSettlement = Readonly<{ settlement: Settlement; transaction: Hex; finishedAtMs: number }>;

/** Position in the order in which settlements finished; within one millisecond they are ordered by id, and `""` sorts first. */
export type LedgerLocation = Readonly<{ finishedAtMs: number; id: string }>;

// SQLite uses the partial index `settlement_finished` only if the query repeats the index's condition verbatim. It prefers the primary key,
// which covers every row of the chain, unless a plus sign hides `chain_id` from the planner. PostgreSQL needs neither.
const settledSql = `SELECT * FROM settlement
  WHERE +chain_id = $1 AND state = 'settled' AND state <> 'begun'
    AND finished_at_ms >= $2 AND finished_at_ms < $3 AND (finished_at_ms > $2 OR id > $4)
  ORDER BY finished_at_ms, id LIMIT $5`;

/** Lists settlements finished after a position and before a time in milliseconds since 1970, oldest first. */
export async function readSettledAfter(
  { after: { finishedAtMs, id }, beforeMs, max }: Readonly<{ after: LedgerLocation; beforeMs: number; max: number }>,
  { chainId }: Options,
  { store }: Readonly<{ store: Pick<SqlStore, "rows"> }>,
): Promise<readonly FinishedSettlement[]> {
  const rows = await store.rows(settledSql, [chainId, finishedAtMs, beforeMs, id, max]);
  return rows.map((row) => ({
    settlement: toSettlement(row),
    transaction: String(row["transaction_hash"]) as Hex,
    finishedAtMs: Number(row["finished_at_ms"]),
  }));
}

export type ExportedSettlement = Readonly<{
  settlement: Settlement;
  recorded: RecordedSettlement;
  finishedAtMs: number | undefined;
  attempts: readonly Attempt[];
  seller: string | undefined;
  refund: Readonly<{ state: string; amount: string; transaction: Hex }> | undefined;
}>;

/** Settlements to export, finished or in flight: from `fromMs` to before `toMs`, of one seller or of all. */
export type ExportRange = Readonly<{ fromMs: number; toMs: number; seller: string | undefined }>;

const pageRows = 200;

const exportedColumns = `settlement.*, sale.seller AS seller, refund.state AS refund_state, refund.amount AS refund_amount,
  refund.hash AS refund_hash
  FROM settlement LEFT JOIN sale ON sale.chain_id = settlement.chain_id AND sale.id = settlement.id
  LEFT JOIN refund ON refund.chain_id = settlement.chain_id AND refund.id = settlement.id`;

// A plus sign hides the primary key from SQLite's planner, as above.
const finishedSql = `SELECT ${exportedColumns} WHERE +settlement.chain_id = $1 AND settlement.state <> 'begun'
    AND finished_at_ms >= $2 AND finished_at_ms < $3 AND (finished_at_ms > $2 OR settlement.id > $4)
    AND ($5 = '' OR sale.seller = $5) ORDER BY finished_at_ms, settlement.id LIMIT ${pageRows}`;

const startedSql = `SELECT ${exportedColumns} WHERE settlement.chain_id = $1 AND settlement.state = 'begun'
    AND begun_at_ms >= $2 AND begun_at_ms < $3 AND (begun_at_ms > $2 OR settlement.id > $4)
    AND ($5 = '' OR sale.seller = $5) ORDER BY begun_at_ms, settlement.id LIMIT ${pageRows}`;

/** Reads settlements page by page: finished ones by finish time, then those in flight. */
export async function* readSettlements(
  { fromMs, toMs, seller = "" }: ExportRange,
  { chainId }: Options,
  { store }: Dependencies,
): AsyncGenerator<readonly ExportedSettlement[]> {
  for (const [text, timeColumn] of [
    [finishedSql, "finished_at_ms"],
    [startedSql, "begun_at_ms"],
  ] as const) {
    let last: SqlRow | undefined;
    do {
      const pageStart = [
        last === undefined ? fromMs : Number(last[timeColumn]),
        toMs,
        String(last?.["id"] ?? ""),
      ] as const;
      const rows = await store.rows(text, [chainId, ...pageStart, seller]);
      last = rows.length < pageRows ? undefined : rows.at(-1);
      const ids = rows.map((row) => String(row["id"])).join(",");
      const attemptsSql = `SELECT * FROM attempt WHERE chain_id = $1 AND ${store.isListed("settlement_id", "$2")}`;
      const attempts = await readAttempts(await store.rows(attemptsSql, [chainId, ids]), chainId, store);
      yield rows.map((row) => toExported(row, attempts.get(String(row["id"])) ?? []));
    } while (last !== undefined);
  }
}

/** Lists the named sellers in the ledger, of all chains, including those removed from the settings. */
export async function listSellers({ store }: Dependencies): Promise<readonly string[]> {
  const rows = await store.rows("SELECT DISTINCT seller FROM sale ORDER BY seller");
  return rows.map(({ seller }) => String(seller));
}

const foundSql = "SELECT * FROM settlement WHERE chain_id = $1 AND state = 'settled' AND state <> 'failed' AND";
const idSql = `${foundSql} id = $2`;
// Lists the nonce spaces of a token's payments, so that the authorization index applies.
const nameSql = `${foundSql} COALESCE(nonce_space, asset) IN ($2, '${permit2Address.toLowerCase()}', '${channelsAddress.toLowerCase()}')
  AND asset = $2 AND payer = $3 AND authorization_nonce = $4`;

/** Finds a settled payment by its name (`namePayment` of x402/scheme.ts) or by its settlement's id. */
export async function findSettled(
  payment: string,
  { chainId }: Options,
  { store }: Dependencies,
): Promise<Settlement | undefined> {
  const [network, ...key] = payment.toLowerCase().split("|");
  const isNamed = key.length === 3;
  if (isNamed && network !== `eip155:${chainId}`) return undefined;
  const [row] = await store.rows(isNamed ? nameSql : idSql, [chainId, ...(isNamed ? key : [payment.toLowerCase()])]);
  return row && toSettlement(row);
}

function toExported(row: SqlRow, attempts: readonly Attempt[]): ExportedSettlement {
  const { finished_at_ms: finishedAtMs, seller, refund_state: state } = row;
  return {
    settlement: toSettlement(row),
    recorded: toRecordedSettlement(row),
    finishedAtMs: finishedAtMs === null ? undefined : Number(finishedAtMs),
    attempts,
    seller: typeof seller === "string" ? seller : undefined,
    refund:
      typeof state === "string"
        ? { state, amount: String(row["refund_amount"]), transaction: String(row["refund_hash"]) as Hex }
        : undefined,
  };
}
