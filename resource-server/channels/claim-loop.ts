import { createBoundedLog } from "#daemon/log/bounded-log.ts";
import { doubleWait, pauseInBackground, repeat, type Pause } from "#daemon/time.ts";
import { reason } from "#x402/reason.ts";
import { listOwed, type Channel, type ChannelLedger } from "../claims/channel-ledger.ts";
import type { UnclaimedAmount } from "./channel-metrics.ts";
import { claimAll, sendSellerRequest, type ClaimParts } from "./claim-batch.ts";
import { computeClaimableUntilMs } from "./channel-terms.ts";

export type ClaimLoopOptions = Readonly<{
  intervalMs: number;
  claimWithinMs: number;
  /**
   * Time after which every node has seen a claim. A lagging node may report that nothing is left to transfer, or the outcome of an earlier
   * transfer, so a report counts as proof of a claim's transfer only after this time.
   */
  nodeLagMs: number;
  /** How long a fully claimed channel is retained after its state was last read. */
  retentionMs: number;
}>;

export type ClaimLoopParts = ClaimParts & Readonly<{ clock: () => number; pause?: Pause }>;

const urgentMax = 1_000;

/** Max delay before another attempt to transfer claimed amounts to the payee. */
const settleBackoffMsMax = 3_600_000;

type Payee = { channel: Channel; ids: Set<Channel["id"]>; isClaimedNow: boolean };

/**
 * Claims the charges of channels in batches, then transfers them to their payees; runs until disposed. Each step depends only on the
 * ledger, and the chain accepts a total only once, so a step interrupted by kill -9 can be repeated.
 */
export function claimChannels(options: ClaimLoopOptions, parts: ClaimLoopParts): AsyncDisposable {
  const { ledger, log, clock, authorizer, metrics, pause = pauseInBackground } = parts;
  const lines = createBoundedLog(log, { lines: 1, everyMs: 3_600_000 });
  const settleBackoff = createSettleBackoff(options.intervalMs, clock);

  /** Claims the due channels of a page, and collects the payees whose claimed amounts are to be transferred. */
  async function claimPage(page: readonly Channel[], atMs: number, payees: Map<string, Payee>): Promise<void> {
    const [unclaimedChannels, claimedChannels] = partition(
      page,
      ({ charged, state }) => charged !== state.totalClaimed,
    );
    const [claimableChannels, keylessChannels] = partition(unclaimedChannels, ({ config }) =>
      authorizer.hasKey(config),
    );
    const isDue = (channel: Channel) => isClaimDue(channel, atMs, options.claimWithinMs);
    const due = new Set(claimableChannels.filter(isDue).map(getPayeeKey));
    const dueChannels = claimableChannels.filter((channel) =>
      channel.rejectedClaims > 0 ? isDue(channel) : due.has(getPayeeKey(channel)),
    );
    const [keyless] = keylessChannels;
    if (keyless !== undefined) {
      const facts = {
        channel: keyless.id,
        channels: keylessChannels.length,
        authorizer: keyless.config.receiverAuthorizer,
      };
      lines.error(
        { event: "channel-key-missing", ...facts },
        "channels can't be claimed without the key that opened them",
      );
    }
    for (const channel of claimedChannels) addClaimed(payees, channel, false);
    for (const channel of await claimAll(dueChannels, atMs, parts)) addClaimed(payees, channel, true);
  }

  async function reconcile(signal: AbortSignal): Promise<void> {
    const atMs = clock();
    const payees = new Map<string, Payee>();
    for await (const page of listOwed(ledger, atMs)) {
      // Read them again for each page, because their deadline is close.
      const urgent = await ledger.withdrawing(urgentMax);
      const channels = new Map([...urgent, ...page].map((channel) => [channel.id, channel]));
      await claimPage([...channels.values()], atMs, payees);
      if (signal.aborted) break;
    }
    for (const [name, payee] of payees) {
      if (!payee.isClaimedNow && settleBackoff.isWaiting(name)) continue;
      settleBackoff.note(name, await settlePayee(payee, clock() - options.nodeLagMs, parts));
    }
    await ledger.forget(atMs - options.retentionMs);
    metrics.setChannels(await ledger.count(), await sumUnclaimed(ledger));
  }

  const reportFailure = (error: unknown) =>
    log.warn({ event: "channels-not-claimed", err: error }, "channels can't be claimed; this will be retried");
  return repeat(reconcile, { intervalMs: options.intervalMs, failed: reportFailure }, { pause });
}

function partition(
  channels: readonly Channel[],
  isFirst: (channel: Channel) => boolean,
): readonly [readonly Channel[], readonly Channel[]] {
  const { first = [], second = [] } = Object.groupBy(channels, (channel) => (isFirst(channel) ? "first" : "second"));
  return [first, second];
}

async function sumUnclaimed(ledger: Pick<ChannelLedger, "owed">): Promise<Iterable<UnclaimedAmount>> {
  const amounts = new Map<string, UnclaimedAmount>();
  for await (const page of listOwed(ledger)) {
    for (const { network, config, charged, state } of page) {
      const token = config.token.toLowerCase();
      const key = `${network} ${token}`;
      amounts.set(key, { network, token, amount: (amounts.get(key)?.amount ?? 0n) + charged - state.totalClaimed });
    }
  }
  return amounts.values();
}

function getPayeeKey({ network, config: { receiver, token } }: Channel): string {
  return [network, receiver, token].join(" ").toLowerCase();
}

function addClaimed(payees: Map<string, Payee>, channel: Channel, isClaimedNow: boolean): void {
  const name = getPayeeKey(channel);
  const payee = payees.get(name) ?? { channel, ids: new Set(), isClaimedNow };
  payee.ids.add(channel.id);
  payee.isClaimedNow ||= isClaimedNow;
  payees.set(name, payee);
}

/** Transfers claimed amounts to their payee; marks those claimed by `beforeMs` as settled. Returns whether it was rejected. */
async function settlePayee({ channel, ids }: Payee, beforeMs: number, parts: ClaimLoopParts): Promise<boolean> {
  const { ledger, log } = parts;
  const { receiver, token } = channel.config;
  const response = await sendSellerRequest({ type: "settle", receiver, token }, channel, parts);
  if (response === undefined) return false;
  const { amount, transaction, errorReason, errorMessage } = response;
  const facts = { payee: receiver, asset: token };
  if (!response.success && errorReason !== reason.nothingToSettle) {
    const why = { reason: errorReason, cause: errorMessage };
    log.warn(
      { event: "channels-not-settled", ...facts, ...why },
      "claimed amounts can't be transferred to their payee yet; this will be retried",
    );
    return true;
  }
  if (response.success)
    log.info(
      { event: "channels-settled", ...facts, amount, transaction },
      "transferred the claimed amounts to their payee",
    );
  await ledger.settled([...ids], beforeMs);
  return false;
}

function createSettleBackoff(initialMs: number, clock: () => number) {
  const backoffs = new Map<string, Readonly<{ untilMs: number; failures: number }>>();
  return {
    isWaiting: (name: string) => (backoffs.get(name)?.untilMs ?? 0) > clock(),
    note(name: string, isRejected: boolean): void {
      if (!isRejected) return void backoffs.delete(name);
      const failures = (backoffs.get(name)?.failures ?? 0) + 1;
      const waitMs = doubleWait(failures, { initialMs, maxMs: settleBackoffMsMax });
      backoffs.set(name, { untilMs: clock() + waitMs, failures });
    },
  };
}

/**
 * Returns whether a channel's charges must be claimed now: `claimWithinMs` after the first charge, or a third of the withdrawal delay if
 * that is less; half of the delay after the payer requested a withdrawal; or when a rejected claim has waited long enough.
 */
function isClaimDue(channel: Channel, atMs: number, claimWithinMs: number): boolean {
  const { owedSinceMs = Number.POSITIVE_INFINITY, rejectedClaims, state, config } = channel;
  const withdrawDelayMs = config.withdrawDelay * 1_000;
  const isWithdrawn = atMs >= computeClaimableUntilMs(state, config.withdrawDelay);
  const waitedMs = atMs - owedSinceMs;
  if (rejectedClaims > 0) return waitedMs >= computeBackoffMs(rejectedClaims, withdrawDelayMs, isWithdrawn);
  return isWithdrawn || waitedMs >= Math.min(claimWithinMs, withdrawDelayMs / 3);
}

/**
 * Computes the wait after rejected claims: it doubles each time, but leaves time for five more claims before an unnoticed withdrawal
 * becomes possible, and for thirty once its request has been noticed.
 */
function computeBackoffMs(rejectedClaims: number, withdrawDelayMs: number, isWithdrawn: boolean): number {
  const initialMs = withdrawDelayMs / 60;
  return doubleWait(rejectedClaims, { initialMs, maxMs: isWithdrawn ? initialMs : withdrawDelayMs / 6 });
}
