import type { PaymentRequirements, SchemeNetworkClient } from "@x402/core/types";
import type { ClientChannelStorage } from "@x402/evm/batch-settlement/client";
import { reason } from "#x402/reason.ts";
import type { PayingAccount } from "#x402/scheme.ts";
import { PaymentRejectedError } from "./payment-choice.ts";

type ReportedTotals = Readonly<{ channelId: string; balance: bigint; totalClaimed: bigint }>;

/**
 * Creates the SDK's signer of channels for one request, with our own files and budget. It reads, instead of the chain, the state that the
 * seller sent when it rejected a total. A seller that lies about the balance gets vouchers that it can't claim, or another deposit within
 * the budget; its charges count only up to the vouchers signed for them ({@link limitVouchers}). No false claim by a seller can exceed the
 * budget.
 */
export async function createChannelSigner(
  account: PayingAccount,
  directory: string,
  fund: (offer: PaymentRequirements, needed: bigint) => bigint,
): Promise<SchemeNetworkClient> {
  const [{ BatchSettlementEvmScheme }, { FileClientChannelStorage }] = await Promise.all([
    import("@x402/evm/batch-settlement/client"),
    import("@x402/evm/batch-settlement/client/file-storage"),
  ]);
  const { storage, admit, dropDeposit } = limitVouchers(new FileClientChannelStorage({ directory }));
  let channelId: string | undefined;
  let price = 0n;
  let deposit: bigint | undefined;
  let told: ReportedTotals | undefined;
  const signer = {
    address: account.address,
    async signTypedData(data: Parameters<PayingAccount["signTypedData"]>[0]) {
      if (data.primaryType === "Voucher") {
        channelId = String(data.message["channelId"]);
        await admit({ channelId, max: BigInt(String(data.message["maxClaimableAmount"])), price, deposit });
      }
      return account.signTypedData(data);
    },
    readContract: async ({ args = [] }: Readonly<{ args?: readonly unknown[] }>) =>
      told?.channelId === String(args[0]).toLowerCase()
        ? ([told.balance, told.totalClaimed] as const)
        : ([0n, 0n] as const),
  };
  const scheme = new BatchSettlementEvmScheme(signer, {
    storage,
    depositStrategy: ({ paymentRequirements, minimumDepositAmount }) =>
      String((deposit = fund(paymentRequirements as PaymentRequirements, BigInt(minimumDepositAmount)))),
  });
  const { onPaymentResponse } = scheme.schemeHooks;
  return {
    scheme: scheme.scheme,
    createPaymentPayload(version, requirements, context) {
      price = BigInt(requirements.amount);
      deposit = undefined;
      return scheme.createPaymentPayload(version, requirements, context);
    },
    schemeHooks: {
      ...scheme.schemeHooks,
      async onPaymentResponse(context) {
        const states = (context.paymentRequired?.accepts ?? []).map(({ extra }) => readTotals(extra?.["channelState"]));
        told = states.find((state) => state !== undefined && state.channelId === channelId?.toLowerCase());
        const result = await onPaymentResponse?.(context);
        const error = context.paymentRequired?.error;
        if (result !== undefined || channelId === undefined || error === undefined || error === reason.channelBusy)
          return result;
        // A killed process may have signed a deposit that its seller never got.
        return (await dropDeposit(channelId)) ? { recovered: true } : undefined;
      },
    },
  };
}

const amount = /^\d{1,39}$/;

function readTotals(state: unknown): ReportedTotals | undefined {
  const { channelId, balance, totalClaimed } = (state ?? {}) as Readonly<Record<string, unknown>>;
  if (!amount.test(String(balance)) || !amount.test(String(totalClaimed))) return undefined;
  return {
    channelId: String(channelId).toLowerCase(),
    balance: BigInt(String(balance)),
    totalClaimed: BigInt(String(totalClaimed)),
  };
}

type StoredChannel = NonNullable<Awaited<ReturnType<ClientChannelStorage["get"]>>> &
  Readonly<{
    /** Signed deposit of unknown outcome; not included in the balance. */
    openDeposit?: string;
  }>;

/** Voucher to sign: the max total that may be charged to its channel, the price of the request, and the deposit signed with it. */
type VoucherTerms = Readonly<{ channelId: string; max: bigint; price: bigint; deposit: bigint | undefined }>;

/**
 * Limits what one request's vouchers add to the highest signed total to the request's price, whatever the seller claims to have charged.
 * That total is stored before a voucher is signed, so that the possible cost of a lost response is known after kill -9. A voucher that the
 * seller returns with our signature counts as signed, because the files may have been lost.
 */
function limitVouchers(files: ClientChannelStorage) {
  /** Highest total that this request signed for its channel, and its limit. */
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
    if (charged > signed) throw rejectVoucher(channelId, charged, signed);
    await files.set(channelId, { ...channel, signedMaxClaimable: String(signed) });
  };
  return {
    /** Also stores the highest signed total, and a deposit of unknown outcome, which counts as made. */
    storage: { get, set: store, delete: (channelId: string) => files.delete(channelId) },
    /** Stores the total before the voucher is signed; rejects it if it exceeds the earlier total by more than the price. */
    async admit({ channelId, max, price, deposit }: VoucherTerms): Promise<void> {
      const channel: StoredChannel | undefined = await files.get(channelId);
      const signed = readSigned(channel);
      const limit = own?.channelId === channelId && signed <= own.max ? own.limit : signed + price;
      if (max > limit) throw rejectVoucher(channelId, max - price, limit - price);
      own = { channelId, max, limit };
      if (deposit !== undefined) deposited = channelId.toLowerCase();
      const opened = deposit === undefined ? {} : { openDeposit: String(deposit) };
      await store(channelId, { ...channel, signedMaxClaimable: String(max), ...opened });
    },
    /** Deletes the deposit of an earlier request on which this request relied. Returns whether there was one. */
    async dropDeposit(channelId: string): Promise<boolean> {
      const stored: StoredChannel | undefined = await files.get(channelId);
      if (stored?.openDeposit === undefined || deposited === channelId.toLowerCase()) return false;
      const { openDeposit: _, ...channel } = stored;
      await files.set(channelId, channel);
      return true;
    },
  };
}

/** Returns the highest signed total; files of earlier versions have only the charged total. */
function readSigned(channel: StoredChannel | undefined): bigint {
  return BigInt(channel?.signedMaxClaimable ?? channel?.chargedCumulativeAmount ?? "0");
}

function rejectVoucher(channelId: string, charged: bigint, signed: bigint): PaymentRejectedError {
  return new PaymentRejectedError(
    "over_payment_cap",
    `the seller says that channel ${channelId} was charged ${charged}, but vouchers were signed for ${signed}; nothing ` +
      "more was signed. If your channels' directory was lost, request again; otherwise don't pay this seller through channels.",
  );
}
