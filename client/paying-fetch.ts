import type { PaymentPayload } from "@x402/core/types";
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from "@x402/fetch";
import { requireDecimals, withDecimals } from "./asset-decimals.ts";
import { choosePayment, type AllowedAsset, type ChosenPayment } from "./payment-choice.ts";
import type { PaymentEvent } from "./payment-event.ts";
import type { PayingAccount, Scheme } from "#x402/scheme.ts";
import { schemes as knownSchemes } from "#x402/schemes.ts";
import { createRepeatingFetch, type Fetch } from "./repeating-fetch.ts";
import { readSymbol } from "./token-symbol.ts";
import { requireFunds, createSpendingBudget } from "./spending-budget.ts";
import { parseTokenAmount } from "#x402/money.ts";
import { identifyPayments } from "#x402/payment-identifier.ts";
import type { TokenReader } from "./token-reader.ts";

export type { PaymentEvent } from "./payment-event.ts";
export { PaymentRefusedError } from "./payment-choice.ts";
export type { Fetch } from "./repeating-fetch.ts";

/** Account and limits of a paying fetch. Amounts are whole tokens (`"0.01"`, `"$0.01"`) or the token's smallest units (`"10000"`). */
export type PayingFetchOptions = Readonly<{
  /** Account that pays, e.g. viem's `privateKeyToAccount(key)`. */
  account: PayingAccount;
  /**
   * Tokens that may be spent, and so the networks; nothing else is paid, the SDK's default tokens included. If an amount is in whole
   * tokens, each needs its `decimals`, or `tokens` to read them with.
   */
  assets: readonly AllowedAsset[];
  /** Largest single payment. */
  maxPerPayment: string;
  /** Largest sum of all payments that this fetch signs. */
  maxTotal: string;
  /** Longest validity of a signed payment; default 3600. */
  maxValiditySeconds?: number;
  /** Time limit of one request, its body included; default 60000. */
  requestTimeoutMs?: number;
  /** Time for which a payment of unknown outcome is sent again; default 120000. */
  outcomeTimeoutMs?: number;
}>;

/** The client's part of a scheme. */
export type PayingScheme = Pick<Scheme, "name" | "objectionTo" | "signer" | "authorization">;

/** All of it is optional: by default the global `fetch` is used, every known scheme is paid by, and nothing is reported. */
export type PayingFetchDependencies = Readonly<{
  /** Default: the global one. */
  fetch?: Fetch;
  /** Reads decimals, and the payer's balance before it signs, e.g. `tokenReader({ rpcUrl })`. Default: nothing is read. */
  tokens?: TokenReader;
  /** Schemes to pay by. Default: all known ones. */
  schemes?: readonly PayingScheme[];
  /** Called for each step of each payment. */
  onEvent?: (event: PaymentEvent) => void;
}>;

/**
 * Makes a `fetch` that answers 402 by paying (x402 version 2, scheme `exact`, EIP-3009). A paid request that breaks off or whose
 * settlement is pending is sent again with the same payment, which can charge only once. Where the seller takes a `payment-identifier`, each payment
 * has a random one, so that the response can be fetched from another address as well.
 *
 * @throws {TokenAmountError} at once, when a cap isn't an amount, or is in whole tokens of unknown decimals. The returned fetch throws
 * {@link PaymentRefusedError} when the offer is outside of the limits or of what the account holds (nothing was signed), and what
 * `fetch` throws.
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
  const { fetch = globalThis.fetch, onEvent = () => undefined, tokens, schemes = knownSchemes } = dependencies;
  const budget = createSpendingBudget(parseTokenAmount(options.maxTotal));
  const limits = {
    maxPerPayment: parseTokenAmount(options.maxPerPayment),
    maxValiditySeconds: options.maxValiditySeconds ?? 3_600,
  };
  requireDecimals(options.assets, [options.maxTotal, options.maxPerPayment], tokens);
  const timeouts = {
    requestTimeoutMs: options.requestTimeoutMs ?? 60_000,
    outcomeTimeoutMs: options.outcomeTimeoutMs ?? 120_000,
  };

  return async (input, init) => {
    let chosen: ChosenPayment | undefined;
    let symbol: string | undefined;
    // The SDK requests a choice after the hook below has made it, or has thrown.
    const client = new x402Client(
      (_version, accepts) => accepts.find((offer) => offer === chosen?.offer) ?? failUnchosen(),
    );
    for (const scheme of schemes) client.register("eip155:*", await scheme.signer(options.account));
    client.setSpendControls(false).registerExtension(identifyPayments);
    client.onAfterPaymentCreation(async ({ paymentPayload }) =>
      onEvent({ ...buildSignedEvent(paymentPayload, schemes), decimals: chosen?.decimals, symbol }),
    );
    const httpClient = new x402HTTPClient(client).onPaymentRequired(async ({ paymentRequired, requestUrl }) => {
      onEvent({ type: "payment-required", url: requestUrl, paymentRequired });
      const assets = await withDecimals(options.assets, paymentRequired, { tokens, onEvent });
      chosen = choosePayment(paymentRequired, { ...limits, assets, schemes });
      if (tokens !== undefined) {
        const chain = { tokens, onEvent };
        const funds = requireFunds(chosen, options.account.address, chain);
        // A chain that did not return the decimals was already reported as one that can't be read.
        [symbol] = await Promise.all([chosen.decimals === undefined ? undefined : readName(chosen, chain), funds]);
      }
      budget.spend({ units: BigInt(chosen.offer.amount), decimals: chosen.decimals });
    });
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
    const repeating = createRepeatingFetch({ ...timeouts, signal }, { fetch, onEvent });
    return wrapFetchWithPayment(repeating, httpClient)(input, init);
  };
}

function failUnchosen(): never {
  throw new TypeError("the SDK does not offer the payment that was chosen");
}

/** Name of a payment's token. */
async function readName(
  { offer }: ChosenPayment,
  chain: Parameters<typeof readSymbol>[1],
): Promise<string | undefined> {
  const { asset: address, network } = offer;
  return (await readSymbol({ network, address }, chain)) ?? undefined;
}

/** Builds the event `payment-signed`, without decimals and symbol. */
function buildSignedEvent({ accepted, payload }: PaymentPayload, schemes: readonly PayingScheme[]) {
  const scheme = schemes.find(({ name }) => name === accepted.scheme) ?? failUnchosen();
  return { type: "payment-signed", accepted, authorization: scheme.authorization(payload) } as const;
}
