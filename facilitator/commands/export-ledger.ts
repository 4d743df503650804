import { StartupError } from "#daemon/process/startup-error.ts";
import { findNearestWord } from "#daemon/settings/problem.ts";
import type { Hex } from "#x402/hex.ts";
import { namePayment, type PaymentKey } from "#x402/payment-identifier.ts";
import type { Receipt } from "../chain/chain.ts";
import { describeMissingOnChain } from "../settlement/ledger-comparison.ts";
import {
  listSellers,
  readSettlements,
  type ExportedSettlement,
  type ExportRange,
} from "../settlement/ledger/settlement-queries.ts";
import { showsTransfer } from "../chain/transfer-method.ts";
import { isExecuted } from "../settlement/track/decision.ts";
import { computeGasCost } from "../chain/gas-limits.ts";
import type { NetworkOptions } from "../network-options.ts";
import type { LedgerAccess } from "./open-ledger-access.ts";

export type ExportDependencies = LedgerAccess &
  Readonly<{
    write: (text: string) => Promise<void>;
    /** Returns the resource server's claims on a payment; undefined if there are none. */
    findClaim: ((key: PaymentKey) => Promise<string>) | undefined;
  }>;

type Comparison = "agrees" | "differs" | "not found" | "pending";

type Receipts = ReadonlyMap<Hex, Receipt>;

type ExportRow = ExportedSettlement & Readonly<{ receipts: Receipts; gas: bigint; key: PaymentKey; claim: string }>;

/** Columns of the export; programs read them by name. */
const columns: Readonly<Record<string, (foundSettlements: ExportRow) => string>> = {
  time: ({ finishedAtMs, settlement: { begunAtMs } }) => new Date(finishedAtMs ?? begunAtMs).toISOString(),
  seller: ({ seller = "" }) => seller,
  payment: ({ key }) => namePayment(key),
  payer: ({ settlement }) => settlement.payer,
  payee: ({ settlement }) => settlement.payTo.toLowerCase(),
  asset: ({ settlement }) => settlement.asset,
  amount: ({ settlement }) => String(settlement.amount),
  state: ({ recorded }) => recorded.state,
  reason: ({ recorded }) => (recorded.state === "failed" ? `${recorded.reason}: ${recorded.message}` : ""),
  transaction: ({ recorded }) => recorded.transaction ?? "",
  block: ({ recorded: { transaction = "0x" }, receipts }) => String(receipts.get(transaction)?.blockNumber ?? ""),
  gas_paid_wei: ({ gas }) => String(gas),
  chain: compare,
  claim: ({ claim }) => claim,
  refund_state: ({ refund }) => refund?.state ?? "",
  refund_amount: ({ refund }) => refund?.amount ?? "",
  refund_transaction: ({ refund }) => refund?.transaction ?? "",
  refund_chain: compareRefund,
};

/**
 * Writes a ledger's settlements as CSV, network by network, each compared with its receipts on the chain. Returns how
 * many do not reconcile. Reads page by page, so that memory use does not grow with the ledger.
 *
 * @throws {ChainError | StoreError} when the node or the ledger does not respond.
 * @throws {StartupError} when neither the settings nor the ledger have the seller.
 */
export async function exportLedger(range: ExportRange, dependencies: ExportDependencies): Promise<number> {
  let unreconciledCount = 0;
  if (range.seller !== undefined) await requireSeller(range.seller, dependencies);
  await dependencies.write(formatCsv(Object.keys(columns)));
  for (const network of dependencies.networks) unreconciledCount += await exportNetwork(range, network, dependencies);
  return unreconciledCount;
}

const shownSellersMax = 20;

async function requireSeller(seller: string, { sellers, store }: LedgerAccess): Promise<void> {
  if (sellers.includes(seller)) return;
  const knownSellers = [...new Set([...sellers, ...(await listSellers({ store }))])];
  if (knownSellers.includes(seller)) return;
  const nearestSeller = findNearestWord(seller, knownSellers);
  const hint = nearestSeller === undefined ? "" : ` Did you mean "${nearestSeller}"?`;
  const more = knownSellers.length > shownSellersMax ? `, and ${knownSellers.length - shownSellersMax} more` : "";
  const list = knownSellers.slice(0, shownSellersMax).join(", ") || "none";
  throw new StartupError(`unknown seller "${seller}".${hint} The settings and the ledger have ${list}${more}.`);
}

async function exportNetwork(
  range: ExportRange,
  network: NetworkOptions,
  { store, connect, write, findClaim }: ExportDependencies,
): Promise<number> {
  const chainId = network.chain.id;
  const { chain, chargesGasLimit } = await connect(network);
  let unreconciledCount = 0;
  for await (const page of readSettlements(range, { chainId }, { store })) {
    const hashes = [...new Set(page.flatMap(listTransactions))];
    const minedReceipts = await Promise.all(hashes.map((hash) => chain.receipt(hash)));
    const receipts = new Map(minedReceipts.flatMap((one) => (one === undefined ? [] : [[one.transactionHash, one]])));
    const find = async (settlement: ExportedSettlement): Promise<ExportRow> => {
      const { asset, payer, authorizationNonce: nonce } = settlement.settlement;
      const key = { network: `eip155:${chainId}`, asset, payer, nonce };
      const gas = computeGasCost(settlement.attempts, receipts, { chargesGasLimit });
      return { ...settlement, receipts, gas, key, claim: (await findClaim?.(key)) ?? "" };
    };
    const foundSettlements = await Promise.all(page.map(find));
    unreconciledCount += foundSettlements.filter((one) => isWrong(compare(one)) || isWrong(compareRefund(one))).length;
    await write(foundSettlements.map((one) => formatCsv(Object.values(columns).map((read) => read(one)))).join(""));
  }
  return unreconciledCount;
}

function isWrong(comparison: Comparison | ""): boolean {
  return comparison === "differs" || comparison === "not found";
}

function listTransactions({ attempts, recorded, refund }: ExportedSettlement): readonly Hex[] {
  const of = [recorded.transaction, refund?.transaction];
  return [...attempts.map(({ hash }) => hash), ...of.filter((hash) => hash !== undefined)];
}

function compare({ settlement, attempts, recorded, receipts }: ExportRow): Comparison {
  if (recorded.state === "settled") {
    const receipt = receipts.get(recorded.transaction);
    if (receipt === undefined) return "not found";
    return describeMissingOnChain(settlement, receipt) === undefined ? "agrees" : "differs";
  }
  if (recorded.state === "begun") return "pending";
  const minedReceipts = attempts.flatMap(({ hash }) => receipts.get(hash) ?? []);
  const isCharged = minedReceipts.some(
    (receipt) => isExecuted({ settlement, attempts }, receipt) && showsTransfer(receipt, settlement),
  );
  return isCharged ? "differs" : "agrees";
}

function compareRefund({ refund, receipts }: ExportRow): Comparison | "" {
  if (refund === undefined) return "";
  const receipt = receipts.get(refund.transaction);
  if (refund.state === "sent") return "pending";
  if (receipt === undefined) return "not found";
  return (receipt.status === 1) === (refund.state === "refunded") ? "agrees" : "differs";
}

/** Matches text that a spreadsheet would evaluate as a formula (OWASP, "CSV Injection"). */
const formula = /^[=+\-@\t\r]/;

/** Formats one record of CSV (RFC 4180). Text that looks like a formula gets a leading apostrophe. */
export function formatCsv(cells: readonly string[]): string {
  const escapedCells = cells.map((cell) => {
    const text = formula.test(cell) ? `'${cell}` : cell;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${escapedCells.join(",")}\r\n`;
}
