import type { ClientChannelStorage } from "@x402/evm/batch-settlement/client";
import { PaymentRefusedError } from "./payment-choice.ts";

type StoredChannel = NonNullable<Awaited<ReturnType<ClientChannelStorage["get"]>>> &
  Readonly<{
    /** Deposit that was signed, and whose outcome is not known; not in the balance. */
    openDeposit?: string;
  }>;

/** Voucher to sign: up to what total its channel may be charged, the price of the request that it pays, and the deposit signed with it. */
type VoucherTerms = Readonly<{ channelId: string; max: bigint; price: bigint; deposit: bigint | undefined }>;

/**
 * Limits what the vouchers of one request add to the highest total that was signed for before: to its price, whatever its seller says that
 * it charged. That total is stored before a voucher is signed, so that what a lost response may have cost is known after kill -9. A voucher
 * that its seller returns with our signature counts as signed, because the files may have been lost.
 */
export function limitVouchers(files: ClientChannelStorage) {
  /** Highest total that this request signed for in its channel, and its limit. */
  let own: Readonly<{ channelId: string; max: bigint; limit: bigint }> | undefined;
  let deposited: string | undefined;
  const get = async (channelId: string): Promise<StoredChannel | undefined> => {
    const stored: StoredChannel | undefined = await files.get(channelId);
    if (stored === undefined) return undefined;
    const { openDeposit, ...channel } = stored;
    if (openDeposit === undefined || deposited === channelId.toLowerCase()) return channel;
    return { ...channel, balance: String(BigInt(channel.balance ?? "0") + BigInt(openDeposit)) };
  };
  const store = async (channelId: string, channel: StoredChannel) => {
    const [before, now] = [readSigned(await files.get(channelId)), BigInt(channel.signedMaxClaimable ?? "0")];
    const signed = before > now ? before : now;
    const charged = BigInt(channel.chargedCumulativeAmount ?? "0");
    if (charged > signed) throw refuseVoucher(channelId, charged, signed);
    await files.set(channelId, { ...channel, signedMaxClaimable: String(signed) });
  };
  return {
    /** Also keeps the highest total signed for, and a deposit of unknown outcome, which counts as made. */
    storage: { get, set: store, delete: (channelId: string) => files.delete(channelId) },
    /** Stores the total before the voucher is signed; rejects more than the price on top of what was signed before. */
    async admit({ channelId, max, price, deposit }: VoucherTerms): Promise<void> {
      const channel: StoredChannel | undefined = await files.get(channelId);
      const signed = readSigned(channel);
      const limit = own?.channelId === channelId && signed <= own.max ? own.limit : signed + price;
      if (max > limit) throw refuseVoucher(channelId, max - price, limit - price);
      own = { channelId, max, limit };
      if (deposit !== undefined) deposited = channelId.toLowerCase();
      const opened = deposit === undefined ? {} : { openDeposit: String(deposit) };
      await store(channelId, { ...channel, signedMaxClaimable: String(max), ...opened });
    },
    /** Forgets an earlier request's deposit that this one counted on. Returns whether there was one. */
    async dropDeposit(channelId: string): Promise<boolean> {
      const stored: StoredChannel | undefined = await files.get(channelId);
      if (stored?.openDeposit === undefined || deposited === channelId.toLowerCase()) return false;
      const { openDeposit: _, ...channel } = stored;
      await files.set(channelId, channel);
      return true;
    },
  };
}

/** Returns the highest total that was signed for; files of earlier versions have only what was charged. */
function readSigned(channel: StoredChannel | undefined): bigint {
  return BigInt(channel?.signedMaxClaimable ?? channel?.chargedCumulativeAmount ?? "0");
}

function refuseVoucher(channelId: string, charged: bigint, signed: bigint): PaymentRefusedError {
  return new PaymentRefusedError(
    "over_payment_cap",
    `the seller says that channel ${channelId} was charged ${charged}, but vouchers were signed for ${signed}; nothing ` +
      "more was signed. If your channels' directory was lost, request again; otherwise don't pay this seller through channels.",
  );
}
