import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import { completeOffer } from "./completed-offers.ts";
import { tokenDecimals } from "#x402/price.ts";
import { reason } from "#x402/reason.ts";
import { schemes as knownSchemes } from "#x402/schemes.ts";
import type { Facilitation, SettledAsset, SupportedKinds } from "./facilitation.ts";

/** Reasons to reject a payment because of the seller's terms, whoever signs it. */
const ofTerms = new Set<string | undefined>([
  reason.missingDomain,
  reason.tokenName,
  reason.tokenVersion,
  reason.requirements,
  "invalid_exact_evm_eip3009_not_supported",
]);

/** Responses of a facilitator that reads an empty account's balance, or simulates its payment, before it checks the terms. */
const ofAccount = new Set<string | undefined>([reason.simulation, "insufficient_funds"]);

/** Max payees, by token and scheme, whose terms are checked. */
const payeesMax = 8;

/** Pause between two checks of rejected terms, in milliseconds. */
const recheckMs = 10_000;

/** Terms that a facilitator rejects, and whether it rejects all terms. */
export type RejectedTerms = Readonly<{ message: string; areAll: boolean }>;

/**
 * Creates a check that a facilitator accepts payments on the offers' terms, repeated when they change. It verifies a payment from an empty
 * account of each payee's lowest price. If that fails because of the account, it verifies a payment of zero, which a token accepts if
 * signed for its own name and version (ERC-20 requires it). Compares decimals if the facilitator lists them.
 *
 * @throws {FacilitationError} when there is no verdict.
 */
export function createTermsCheck(
  offers: () => readonly PaymentRequirements[],
  { verify }: Pick<Facilitation, "verify">,
): (supported: SettledAssets & Pick<SupportedKinds, "kinds">) => Promise<RejectedTerms | undefined> {
  let known: Readonly<{ terms: string; rejected: RejectedTerms | undefined; atMs: number }> | undefined;
  return async (supported) => {
    const decimals = explainDecimals(supported, offers());
    if (decimals !== undefined) return { message: decimals, areAll: true };
    const payable = offers().flatMap((offer) => completeOffer(offer, supported.kinds) ?? []);
    const byPayee = Map.groupBy(payable, ({ payTo, asset, scheme }) => `${payTo} ${asset} ${scheme}`);
    const checked = [...byPayee.values()]
      .slice(0, payeesMax)
      .flatMap((each) => each.toSorted(compareAmounts).slice(0, 1));
    const terms = JSON.stringify(checked);
    const isFresh = known?.rejected === undefined || performance.now() - known.atMs < recheckMs;
    if (known?.terms === terms && isFresh) return known.rejected;
    const messages: string[] = [];
    for (const offer of checked) messages.push(...(await explainRejection(offer, verify)));
    const message = `it rejects every payment to the seller's terms (token, payTo, price): ${[...new Set(messages)].join("; ")}`;
    const rejected = messages.length === 0 ? undefined : { message, areAll: messages.length === checked.length };
    known = { terms, rejected, atMs: performance.now() };
    return rejected;
  };
}

/** Returns why payments of an offer are rejected whoever signs them, in one sentence; empty if they are not. */
async function explainRejection(
  offer: PaymentRequirements,
  verify: Facilitation["verify"],
): Promise<readonly string[]> {
  const judge = async (each: PaymentRequirements) => verify({ sent: await signEmpty(each) }, each);
  const { invalidReason, invalidMessage = "without a message" } = await judge(offer);
  if (ofTerms.has(invalidReason)) return [`${invalidReason}: ${invalidMessage}`];
  const nothing = { ...offer, amount: "0" };
  if (!ofAccount.has(invalidReason) || (await judge(nothing)).invalidReason !== reason.simulation) return [];
  const { name, version } = offer.extra;
  return [
    `token ${offer.asset} has another EIP-712 domain than name "${name}", version "${version}"; correct token.name, token.version`,
  ];
}

function compareAmounts(a: PaymentRequirements, b: PaymentRequirements): number {
  return BigInt(a.amount) < BigInt(b.amount) ? -1 : 1;
}

/** Signs a payment from a newly created, empty account. */
async function signEmpty(accepted: PaymentRequirements): Promise<PaymentPayload> {
  const { generatePrivateKey, privateKeyToAccount } = await import("viem/accounts");
  const scheme = knownSchemes.find(({ name }) => name === accepted.scheme);
  if (scheme === undefined) throw new TypeError(`a route is sold by the unknown scheme ${accepted.scheme}`);
  const signer = await scheme.signer(privateKeyToAccount(generatePrivateKey()));
  return { accepted, ...(await signer.createPaymentPayload(2, accepted)) };
}

type SettledAssets = Readonly<{ assets?: readonly SettledAsset[] | undefined }>;

/** Describes a mismatch between the decimals of an offer's token and those used to convert prices; undefined if none is known. */
export function explainDecimals(
  { assets = [] }: SettledAssets,
  offers: readonly Pick<PaymentRequirements, "asset" | "extra">[],
): string | undefined {
  for (const { asset, extra } of offers) {
    const charged = Number(extra["decimals"] ?? tokenDecimals);
    const settled = assets.find(({ address }) => address.toLowerCase() === asset.toLowerCase());
    if (settled?.decimals === undefined || settled.decimals === charged) continue;
    const setting = "decimals" in extra ? "the route's asset.decimals" : "token.address";
    return `token ${settled.address} has ${settled.decimals} decimals, and prices are charged in one of ${charged}; correct ${setting}`;
  }
  return undefined;
}
