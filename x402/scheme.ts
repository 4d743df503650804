import type { PaymentPayload, PaymentRequirements, SchemeNetworkClient } from "@x402/core/types";
import type { ReportedResult, SettleResult, VerifyResult } from "./payment-result.ts";
import type { KnownContracts } from "./contracts.ts";
import type { Audience } from "./fields.ts";
import type { Hex } from "./hex.ts";
import type { PaymentKey } from "./payment-identifier.ts";
import type { Reason, Rejection } from "./reason.ts";
import type { AcceptedAsset, SignatureCheck, SignedPayment } from "./signed-payment.ts";

/** Paying account, in the shape of viem and the x402 SDK; it signs typed data (EIP-712). */
export type PayingAccount = Readonly<{
  address: `0x${string}`;
  signTypedData: (message: {
    domain: Record<string, unknown>;
    types: Record<string, unknown>;
    primaryType: string;
    message: Record<string, unknown>;
  }) => Promise<`0x${string}`>;
  /** If present, a Permit2 payment includes the payer's approval, provided the seller accepts one. */
  readContract?: ReadContract;
}>;

/** Calls a view function of a contract, in viem's shape. */
export type ReadContract = (call: {
  address: `0x${string}`;
  abi: readonly unknown[];
  functionName: string;
  args?: readonly unknown[];
}) => Promise<unknown>;

/** Token in which prices are charged, on one network; `name` and `version` are those of its EIP-712 domain. */
export type ChargedToken = Readonly<{
  network: PaymentRequirements["network"];
  address: string;
  name: string;
  version: string;
  /** Decimals of the token; default: {@link tokenDecimals}. */
  decimals?: number | undefined;
}>;

/** How a payment moves its tokens (x402 version 2, `extra.assetTransferMethod`). */
export type TransferMethod = "eip3009" | "permit2";

/** The transfer authorized by a payment, as strings in wire format, without the signature. */
export type SignedAuthorization = Readonly<{
  from: string;
  to: string;
  /** Amount in the token's smallest units. */
  value: string;
  /** Unix seconds. */
  validAfter: string;
  /** Unix seconds. */
  validBefore: string;
  /** 32 bytes, hexadecimal; the token or, depending on `method`, Permit2 accepts it only once from one account. */
  nonce: string;
  /** How the token is moved; default: `eip3009`. */
  method?: TransferMethod;
  /** For a payment through a channel: the total that its voucher allows, and its deposit, in the token's smallest units. */
  channel?: Readonly<{ voucher: string; deposit?: string }>;
}>;

/**
 * x402 version 2 scheme: everything that client, seller and facilitator do with it. To add a scheme, add a file with such a value and a
 * line in `schemes.ts`; no other code distinguishes schemes.
 */
export type Scheme<Payment = unknown> = Readonly<{
  name: string;
  /**
   * Parses the payload of a payment without verifying it.
   *
   * @throws {MalformedPaymentError} with the path within the payload.
   */
  read(payload: Readonly<Record<string, unknown>>, audience: Audience): Payment;
  /** Returns the payment's key in ledgers. Two payments with the same key can't both be settled. */
  key(payment: Payment, accepted: Pick<PaymentRequirements, "network" | "asset" | "amount">): PaymentKey;
  /** Returns a hexadecimal SHA-256 that only a holder of the signed payment can compute. Ledgers store it, so it never changes for a payment. */
  digest(payment: Payment): string;
  /** Returns the time, in Unix seconds, from which the payment can't be settled. */
  expiresAt(payment: Payment): number;
  /** Converts a price in dollars to the amount and token of an offer; `method` is how the tokens are moved. */
  quote(
    price: string,
    token: ChargedToken,
    method?: TransferMethod,
  ): Promise<Pick<PaymentRequirements, "amount" | "asset" | "extra">>;
  /** Whether the offer's amount is a maximum, and the seller charges only the amount used. */
  isMax?: boolean;
  /**
   * Rejection reason while the account has another request in flight; present if each payment restates the total charged to the account. If
   * nothing was charged, such a payment may be reused for another request, so only a payment-identifier marks a retry.
   */
  busy?: Reason;
  buysNothing?(payment: Payment): boolean;
  /** Returns why no client pays such an offer, whatever its limits; undefined if clients may pay it. */
  objectionTo(offer: PaymentRequirements): string | undefined;
  /** Creates a signer of payments for a client's account, as required by the SDK's client. */
  signer(account: PayingAccount): Promise<SchemeNetworkClient>;
  authorization(payload: PaymentPayload["payload"]): SignedAuthorization;
  /** Loads the facilitator's part. Called only when a facilitator starts, because this is most of a scheme's loading time. */
  settling(): Promise<Settling<Payment>>;
}>;

export type SettledScheme<Payment = unknown> = Pick<Scheme<Payment>, "name" | "read" | "settling">;

export type Settling<Payment = unknown> = Readonly<{
  /** Lists the scheme's kinds for `/supported`; empty while its contracts are not on the chain. */
  kinds(about: Pick<Transfers, "contracts"> & Readonly<{ signer: Hex }>): readonly Readonly<Record<string, unknown>>[];
  /** Returns, before a payload is parsed, why this kind of payload is not supported here; undefined if it is. */
  rejectPayload(payload: Readonly<Record<string, unknown>>): Rejection | undefined;
  /** Returns whether the payer's key signed the payment, without querying the chain; false for a wallet's signature. */
  isSignedByKey?(order: Order<Payment>): boolean | Promise<boolean>;
  /**
   * Returns whether the payment would settle now. Changes nothing except the record of the caller's verifications.
   *
   * @throws as documented in `Facilitator`.
   */
  verify(order: Order<Payment>, transfers: Transfers): Promise<ReportedResult<VerifyResult>>;
  /**
   * Settles the payment, at most once.
   *
   * @throws as documented in `Facilitator`.
   */
  settle(order: Order<Payment>, transfers: Transfers): Promise<ReportedResult<SettleResult>>;
}>;

export type Order<Payment> = Readonly<{
  payment: Payment;
  requirements: PaymentRequirements;
  accepted: PaymentRequirements;
  extensions: Readonly<Record<string, unknown>>;
}>;

/** Total that a channel pays to its payee, including claims in the same request, and the number of earlier refunds. */
export type ChannelRefund = Readonly<{ asset: Hex; claimed: bigint; refunds: bigint }>;

/**
 * Facilitator's services for its schemes, on behalf of one caller: they know the supported tokens and payees, the recorded settlements and
 * their owners, query the chain, and settle. A scheme determines who signed what, and leaves everything else to these services.
 */
export type Transfers = Readonly<{
  assets: ReadonlyMap<string, AcceptedAsset>;
  /** Returns whether the payer's key signed; recovers each signature only once. */
  isSigned: SignatureCheck;
  /** Canonical contracts on the chain, by lowercase address; all of them until the chain has been checked. */
  contracts: KnownContracts;
  /**
   * Returns why the settings exclude a token or a payee, for everyone or for the caller. Terms with `deposits` are allowed if a settled
   * deposit is recorded for each. @throws as documented in `Facilitator`.
   */
  rejectTerms(terms: Pick<SignedPayment, "asset" | "payTo" | "unserved" | "deposits">): Promise<Rejection | undefined>;
  /** Returns why the caller can't have a refund, whatever its signatures. */
  rejectRefund(refund: ChannelRefund): Rejection | undefined;
  /** Returns why a signature that needs the payer's contract is invalid. @throws as documented in `Facilitator`. */
  checkWallet(
    signed: Pick<SignedPayment, "id" | "contract" | "payer" | "walletSignature">,
  ): Promise<Rejection | undefined>;
  read(call: Readonly<{ to: Hex; data: Hex }>): Promise<Hex>;
  progress(id: Hex): Promise<"begun" | "settled" | "failed" | undefined>;
  /** Milliseconds since 1970. */
  clock(): number;
  verify(payment: SignedPayment): Promise<ReportedResult<VerifyResult>>;
  settle(payment: SignedPayment): Promise<ReportedResult<SettleResult>>;
  /** Completes an unused payment without a transaction; if it was settled before, it keeps that outcome. */
  settleNothing(payment: SignedPayment): Promise<ReportedResult<SettleResult>>;
}>;

export type ReadPayment<Payment = unknown> = Readonly<{
  scheme: Scheme<Payment>;
  /** As sent, including fields that are not used here. */
  sent: PaymentPayload;
  accepted: PaymentRequirements;
  payment: Payment;
}>;
