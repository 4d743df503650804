import type { PaymentPayload } from "@x402/core/types";
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from "@x402/fetch";
import { requireDecimals, withDecimals, readSymbol, requireFunds } from "./token-metadata.ts";
import { createChannelPayments, type ChannelOptions } from "./channel-payments.ts";
import {
  choosePayment,
  PaymentRejectedError,
  type AllowedAsset,
  type ChosenPayment,
  payingSchemes,
} from "./payment-choice.ts";
import type { PaymentEvent } from "./payment-event.ts";
import type { PayingAccount, ReadContract, Scheme } from "#x402/scheme.ts";
import {
  createRepeatingFetch,
  defaultOutcomeTimeoutMs,
  defaultRequestTimeoutMs,
  type Fetch,
} from "./repeating-fetch.ts";
import { createSpendingBudget } from "./spending-budget.ts";
import { parseTokenAmount } from "#x402/token-amount.ts";
import { identifyPayments } from "#x402/payment-identifier.ts";
import { describeUnsignableApproval } from "./permit2-approval.ts";
import { isRevert, type TokenReader, TokenReadError } from "./token-reader.ts";

export type { ChannelOptions } from "./channel-payments.ts";
export type { PaymentEvent } from "./payment-event.ts";
export { PaymentRejectedError } from "./payment-choice.ts";
export type { Fetch } from "./repeating-fetch.ts";

/** Account and limits of a paying fetch. Amounts are in whole tokens (`"0.01"`, `"$0.01"`) or in the token's smallest units (`"10000"`). */
export type PayingFetchOptions = Readonly<{
  /** Paying account, e.g. viem's `privateKeyToAccount(key)`. */
  account: PayingAccount;
  /**
   * Tokens that may be spent; they also determine the networks. No other token is paid, not even the SDK's default tokens. If an amount is
   * in whole tokens, each token needs `decimals`, or the `tokens` dependency to read them.
   */
  assets: readonly AllowedAsset[];
  /** Max amount of a single payment. */
  maxPerPayment: string;
  /** Max total of all payments signed by this fetch. */
  maxTotal: string;
  /** Max validity of a signed payment; default 3600. */
  maxValiditySeconds?: number;
  /** Also pays through channels, which suit frequently called sellers. Default: opens none. */
  channels?: ChannelOptions;
  /** Timeout of one request, including its body; default 60000. */
  requestTimeoutMs?: number;
  /** Period during which a payment with an unknown outcome is resent; default 120000. */
  outcomeTimeoutMs?: number;
}>;

export type PayingScheme = Pick<Scheme, "name" | "isMax" | "objectionTo" | "signer" | "authorization">;

/** Optional dependencies. By default the global `fetch` is used, and nothing is reported. */
export type PayingFetchDependencies = Readonly<{
  /** Function that sends the requests; default: the global `fetch`. */
  fetch?: Fetch;
  /**
   * Reads decimals, the balance and the data for a Permit2 approval before signing; `tokenReader({ rpcUrl })` creates one. Default: reads
   * nothing.
   */
  tokens?: TokenReader;
  /** Called for each step of each payment. */
  onEvent?: (event: PaymentEvent) => void;
}>;

/**
 * Creates a `fetch` that responds to 402 by paying (x402 version 2, schemes `exact`, `upto` and, with `channels`, `batch-settlement`).
 * Resends a paid request with the same payment, which can charge only once, if the connection breaks or settlement is pending. If the seller
 * supports `payment-identifier`, each payment carries a random one, so that the response can also be fetched from another address.
 *
 * @throws {TokenAmountError} immediately, when a cap isn't an amount, or is in whole tokens of unknown decimals. The returned fetch throws
 * {@link PaymentRejectedError} when the offer exceeds the limits or the account's balance (nothing was signed), and whatever `fetch` throws.
 *
 * @example
 * import { payingFetch } from "gatehouse-evm/client";
 *
 * const fetch = payingFetch({
 *   account, // viem's privateKeyToAccount(key), or anything else that has an address and signs typed data
 *   assets: [{ network: "eip155:1672", address: token, decimals: 6 }],
 *   maxPerPayment: "0.05",
 *   maxTotal: "1.0",
 * });
 * const response = await fetch("http://127.0.0.1:4021/data");
 * console.log(response.status); // 200
 */
export function payingFetch(options: PayingFetchOptions, dependencies: PayingFetchDependencies = {}): Fetch {
  const { fetch = globalThis.fetch, onEvent = () => undefined, tokens } = dependencies;
  const budget = createSpendingBudget(parseTokenAmount(options.maxTotal));
  const channels = options.channels === undefined ? undefined : createChannelPayments(options.channels, budget);
  const schemes = [...payingSchemes, ...(channels === undefined ? [] : [channels.scheme])];
  const limits = {
    maxPerPayment: parseTokenAmount(options.maxPerPayment),
    maxValiditySeconds: options.maxValiditySeconds ?? 3_600,
  };
  requireDecimals(options.assets, [options.maxTotal, options.maxPerPayment], tokens);
  const timeouts = {
    requestTimeoutMs: options.requestTimeoutMs ?? defaultRequestTimeoutMs,
    outcomeTimeoutMs: options.outcomeTimeoutMs ?? defaultOutcomeTimeoutMs,
  };

  return async (input, init) => {
    let chosen: ChosenPayment | undefined;
    let symbol: string | undefined;
    let rejection: PaymentRejectedError | undefined;
    const { address } = options.account;
    // The SDK replaces errors thrown during signing by its own.
    const readContract: ReadContract = async (call) => {
      try {
        return await tokens?.readContract(call);
      } catch (error) {
        if (chosen !== undefined && isPermitMissing(call, error)) rejection = rejectUnapproved(chosen, address);
        throw error;
      }
    };
    const account: PayingAccount = {
      address,
      signTypedData: (message) => options.account.signTypedData(message),
      ...(tokens === undefined ? {} : { readContract }),
    };
    using payment = new DisposableStack();
    // The SDK requests a choice only after the hook below has made it or has thrown.
    const client = new x402Client(
      (_version, accepts) => accepts.find((offer) => offer === chosen?.offer) ?? failUnchosen(),
    );
    for (const scheme of schemes) client.register("eip155:*", await scheme.signer(account));
    client.setSpendControls(false).registerExtension(identifyPayments);
    client.onAfterPaymentCreation(async ({ paymentPayload }) =>
      onEvent({ ...buildSignedEvent(paymentPayload, schemes), decimals: chosen?.decimals, symbol }),
    );
    const httpClient = new x402HTTPClient(client).onPaymentRequired(async ({ paymentRequired, requestUrl }) => {
      onEvent({ type: "payment-required", url: requestUrl, paymentRequired });
      const assets = await withDecimals(options.assets, paymentRequired, { tokens, onEvent });
      chosen = choosePayment(paymentRequired, { ...limits, assets, schemes });
      const isChannel = chosen.offer.scheme === channels?.scheme.name;
      if (tokens !== undefined) {
        const chain = { tokens, onEvent };
        const token = { network: chosen.offer.network, address: chosen.offer.asset };
        // The channel's balance may already cover the price.
        const funds = isChannel ? undefined : requireFunds(chosen, options.account.address, chain);
        // Without decimals from the chain, a failure was already reported, so the symbol is not read.
        [symbol] = await Promise.all([chosen.decimals === undefined ? undefined : readSymbol(token, chain), funds]);
      }
      if (channels !== undefined && isChannel) payment.use(await channels.begin(chosen));
      else budget.spend({ units: BigInt(chosen.offer.amount), decimals: chosen.decimals });
    });
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    const repeating = createRepeatingFetch({ ...timeouts, signal }, { fetch, onEvent });
    try {
      return await wrapFetchWithPayment(repeating, httpClient)(input, init);
    } catch (error) {
      throw rejection ?? error;
    }
  };
}

/** Returns whether reading the nonce for a signed approval failed because the token lacks EIP-2612. */
function isPermitMissing({ functionName }: Parameters<ReadContract>[0], error: unknown): boolean {
  return functionName === "nonces" && error instanceof TokenReadError && isRevert(error);
}

function rejectUnapproved({ offer: { asset, amount }, decimals }: ChosenPayment, account: string) {
  const message = describeUnsignableApproval({ account, asset, amount, decimals });
  return new PaymentRejectedError("permit2_not_approved", message);
}

function failUnchosen(): never {
  throw new TypeError("the SDK does not offer the payment that was chosen");
}

/** Builds the event `payment-signed`, without decimals and symbol. */
function buildSignedEvent({ accepted, payload }: PaymentPayload, schemes: readonly PayingScheme[]) {
  const scheme = schemes.find(({ name }) => name === accepted.scheme) ?? failUnchosen();
  const isMax = scheme.isMax === true;
  return { type: "payment-signed", accepted, isMax, authorization: scheme.authorization(payload) } as const;
}
