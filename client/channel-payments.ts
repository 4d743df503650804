import type { PaymentRequirements } from "@x402/core/types";
import type { Scheme } from "#x402/scheme.ts";
import { batchSettlement } from "#x402/batch-settlement.ts";
import { createChannelSigner } from "./channel-signer.ts";
import { PaymentRejectedError, type ChosenPayment } from "./payment-choice.ts";
import type { SpendingBudget } from "./spending-budget.ts";

/** How a client pays through channels (scheme `batch-settlement`). */
export type ChannelOptions = Readonly<{
  /** Directory with one file per channel, with its balance and what it was charged; survives kill -9. */
  directory: string;
  /** Number of payments at the first price that a deposit covers, if `maxTotal` allows; default 5. */
  depositMultiple?: number;
}>;

/** Payment channels of one paying `fetch`, within its budget. */
export type ChannelPayments = Readonly<{
  scheme: Pick<Scheme, "name" | "isMax" | "objectionTo" | "authorization" | "signer">;
  /**
   * Deducts a payment from the budget, unless an earlier deposit covers it, and waits for earlier payments to the seller, because a channel
   * has at most one request in flight. The caller disposes of the returned value when the payment's outcome is known.
   *
   * @throws {PaymentRejectedError} like the budget.
   */
  begin(payment: ChosenPayment): Promise<Disposable>;
}>;

export function createChannelPayments(
  { directory, depositMultiple = 5 }: ChannelOptions,
  budget: SpendingBudget,
): ChannelPayments {
  /** Amount deposited from the budget and not spent yet, by token. */
  const prepaid = new Map<string, bigint>();
  const decimalsOf = new Map<string, number | undefined>();
  const queues = new Map<string, Promise<void>>();
  /** Amount deducted from the budget for the payment in flight, by queue, until its deposit is signed. */
  const deducted = new Map<string, bigint>();

  /** Chooses a deposit of at least `needed`, and deducts from the budget what the payment has not yet deducted. */
  function fund(offer: PaymentRequirements, needed: bigint): bigint {
    const price = BigInt(offer.amount);
    // A channel is never charged more than its balance.
    if (needed > price) {
      const text = `the seller says that the channel was charged more than it holds, and needs a deposit of ${needed} for a price of ${price}; nothing more was signed. Don't pay this seller through channels.`;
      throw new PaymentRejectedError("over_payment_cap", text);
    }
    const [token, queue] = [nameToken(offer), nameQueue(offer)];
    const decimals = decimalsOf.get(token);
    const paid = deducted.get(queue) ?? 0n;
    deducted.delete(queue);
    const wanted = price * BigInt(depositMultiple);
    const { minDeposit } = offer.extra;
    const hinted = typeof minDeposit === "string" && /^\d{1,38}$/.test(minDeposit) ? BigInt(minDeposit) : 0n;
    const most = paid + budget.left(decimals);
    const [larger] = [wanted, hinted, needed].toSorted((a, b) => Number(b > a) - Number(b < a));
    const affordable = larger !== undefined && larger < most ? larger : most;
    const deposit = affordable > needed ? affordable : needed;
    const more = deposit > paid ? deposit - paid : 0n;
    budget.spend({ units: more, decimals });
    prepaid.set(token, (prepaid.get(token) ?? 0n) + more);
    return deposit;
  }

  return {
    scheme: { ...batchSettlement, signer: (account) => createChannelSigner(account, directory, fund) },
    async begin({ offer, decimals }) {
      const queue = nameQueue(offer);
      const earlier = queues.get(queue);
      const { promise, resolve } = Promise.withResolvers<void>();
      queues.set(queue, promise);
      await earlier;
      try {
        const token = nameToken(offer);
        decimalsOf.set(token, decimals);
        const price = BigInt(offer.amount);
        const credit = prepaid.get(token) ?? 0n;
        const covered = credit < price ? credit : price;
        budget.spend({ units: price - covered, decimals });
        prepaid.set(token, credit - covered);
        deducted.set(queue, price - covered);
      } catch (error) {
        resolve();
        throw error;
      }
      return { [Symbol.dispose]: resolve };
    },
  };
}

function nameToken({ network, asset }: PaymentRequirements): string {
  return `${network} ${asset.toLowerCase()}`;
}

function nameQueue(offer: PaymentRequirements): string {
  return `${nameToken(offer)} ${offer.payTo.toLowerCase()}`;
}
