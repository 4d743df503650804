import type { PaymentRequirements, SchemeNetworkClient } from "@x402/core/types";
import { reason } from "#x402/reason.ts";
import type { PayingAccount } from "#x402/scheme.ts";
import { limitVouchers } from "./voucher-limit.ts";

type ReportedTotals = Readonly<{ channelId: string; balance: bigint; totalClaimed: bigint }>;

/**
 * Creates the published signer of channels for one request, on our own files and budget. Instead of the chain it reads what the seller said
 * when it rejected a total: a seller that lies about the balance gets vouchers that it can't claim, or another deposit within the budget;
 * what it charged counts as far as vouchers for it were signed ({@link limitVouchers}). No false claim by a seller makes it deposit more than is left of the budget.
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
