import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import { retainNewest } from "#daemon/memoize.ts";
import { doubleWait } from "#daemon/time.ts";
import type { Hex } from "#x402/hex.ts";
import { keccak256 } from "#x402/typed-data.ts";
import { reason, type Rejection } from "#x402/reason.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import type { Chain } from "./chain.ts";
import { isWithinChannels } from "./transfer-method.ts";

/**
 * Party that made a transaction fail although its simulation succeeded. A wallet is a payer with code; its code is `0x` if the payment was to create the wallet.
 */
export type SuspectedParty = Readonly<{ kind: "token" | "payer" } | { kind: "wallet"; code: Hex }>;

type Parties = Readonly<{ asset: Hex; payer: Hex }>;

export type SuspendablePayment = Parties & Readonly<{ contract: Hex; callData: Hex }>;

/** Tokens and payers whose payments wasted gas: rejected for a minute, doubled with each failure. */
export type Suspensions = ReturnType<typeof createSuspensions>;

export type SuspensionDependencies = Pick<Clock, "monotonicMs"> &
  Readonly<{
    log: Logger;
    /** Returns whether a payment from this payer, in this token and by this method, was ever settled here. */
    hasPaid: (payment: SuspendablePayment) => Promise<boolean>;
  }>;

const hourMs = 3_600_000;
const suspension = { initialMs: 60_000, maxMs: hourMs };
/** Shorter, because it also affects payers that never failed but have the same contract code. */
const codeSuspension = { initialMs: 60_000, maxMs: 600_000 };
const entriesMax = 1_000;
const wastedMax = 3;
/** Max failed wallets, with any code, within an hour; beyond it, wallets that never paid here are rejected. */
const wastedPerHour = 10;

const causes: Readonly<Record<SuspectedParty["kind"], string>> = {
  token: "failed a transfer that it had accepted in a simulation",
  payer: "cancelled a payment, or moved its funds, before it was settled",
  wallet: "rejected a signature that it had confirmed in a simulation",
};

type Entry = Readonly<{ failures: number; untilMs: number }>;

export function createSuspensions({ monotonicMs, log, hasPaid }: SuspensionDependencies) {
  const entries = new Map<string, Entry>();
  const codes = new Map<string, Entry>();
  let codesUntilMs = 0;
  const wastedAtMs: number[] = [];
  const budgetUntilMs = () => (wastedAtMs.length < wastedPerHour ? 0 : (wastedAtMs[0] ?? 0) + hourMs);
  /** Records the first failure of a wallet. The suspension doubles with each failure, and is reset after an hour without one. */
  const noteWallet = (code: Hex) => {
    const [name, nowMs] = [hashCode(code), monotonicMs()];
    const previousEntry = codes.get(name) ?? { failures: 0, untilMs: nowMs };
    const failures = nowMs - previousEntry.untilMs > hourMs ? 1 : previousEntry.failures + 1;
    const forMs = failures < wastedMax ? 0 : doubleWait(failures - wastedMax + 1, codeSuspension);
    retainNewest(codes, name, { failures, untilMs: nowMs + forMs }, entriesMax);
    codesUntilMs = Math.max(codesUntilMs, nowMs + forMs);
    wastedAtMs.push(nowMs);
    if (wastedAtMs.length > wastedPerHour) wastedAtMs.shift();
  };
  const rejectWallet = async (payment: SuspendablePayment, code: Hex): Promise<Rejection | undefined> => {
    const codeEntry = codes.get(hashCode(code));
    const isCodeSuspended = codeEntry !== undefined && codeEntry.untilMs > budgetUntilMs();
    const leftMs = (isCodeSuspended ? codeEntry.untilMs : budgetUntilMs()) - monotonicMs();
    if (leftMs <= 0 || (await hasPaid(payment))) return undefined;
    const [failedWallets, affectedWallets] = isCodeSuspended
      ? [`${codeEntry.failures} wallets with the code of ${payment.payer}`, "such wallets"]
      : [`${wastedPerHour} wallets`, "contract wallets"];
    const what = `${failedWallets} ${causes.wallet}; ${affectedWallets} that never paid here are`;
    return buildRejection(what, leftMs, " Pay from an account with a key, or try again then.");
  };
  return {
    add: (culprit: SuspectedParty, parties: Parties): void => {
      const { kind } = culprit;
      const name = buildName(kind, parties);
      const failures = (entries.get(name)?.failures ?? 0) + 1;
      const forMs = doubleWait(failures, suspension);
      retainNewest(entries, name, { failures, untilMs: monotonicMs() + forMs }, entriesMax);
      if (culprit.kind === "wallet" && failures === 1) noteWallet(culprit.code);
      log.warn(
        { event: "payments-suspended", culprit: kind, address: name, failures, forMs },
        `the ${kind} ${causes[kind]}; its payments are rejected for a while`,
      );
    },
    end: (parties: Parties): void => {
      for (const kind of ["token", "payer"] as const) entries.delete(buildName(kind, parties));
    },
    /**
     * Returns why a payment is rejected now; never for transfers within channels, which are not payments. Also rejects wallets that never
     * paid here: failures count for all wallets with the same code, and all wallets share an hourly limit, because anyone can create any
     * number of them.
     *
     * @throws {ChainError} when the node doesn't respond, and {StoreError} when the ledger doesn't.
     */
    reject: async (payment: SuspendablePayment, chain: Pick<Chain, "code">): Promise<Rejection | undefined> => {
      if (isWithinChannels(payment)) return undefined;
      for (const kind of ["token", "payer"] as const) {
        const name = buildName(kind, payment);
        const leftMs = (entries.get(name)?.untilMs ?? 0) - monotonicMs();
        if (leftMs > 0) return buildRejection(`the ${kind} ${name} ${causes[kind]}; its payments are`, leftMs);
      }
      if (Math.max(codesUntilMs, budgetUntilMs()) <= monotonicMs()) return undefined;
      const code = await chain.code(payment.payer);
      const isWallet = code !== "0x" || payment.contract === multicall3Address;
      return isWallet ? rejectWallet(payment, code) : undefined;
    },
  };
}

function buildRejection(what: string, leftMs: number, advice = ""): Rejection {
  const message = `${what} rejected for another ${Math.ceil(leftMs / 1_000)} s.${advice}`;
  return { reason: reason.transaction, message };
}

function buildName(kind: SuspectedParty["kind"], { asset, payer }: Parties): string {
  return (kind === "token" ? asset : payer).toLowerCase();
}

function hashCode(code: Hex): string {
  return keccak256(Buffer.from(code.slice(2), "hex")).toString("hex");
}
