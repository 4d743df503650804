import type { PaymentPayload, PaymentRequirements, VerifyResponse } from "@x402/core/types";
import { completeOffers } from "./completed-offers.ts";
import { tokenDecimals } from "#x402/price.ts";
import { reason } from "#x402/reason.ts";
import { schemes as knownSchemes } from "#x402/schemes.ts";
import { FacilitationError, type SettledAsset, type SupportedKinds } from "./facilitation.ts";

/** Reasons to reject a payment because of the seller's terms, regardless of its signer. */
const ofTerms = new Set<string | undefined>([
  reason.missingDomain,
  reason.tokenName,
  reason.tokenVersion,
  reason.requirements,
  "invalid_exact_evm_eip3009_not_supported",
]);

/** Reasons given by a facilitator that reads the balance, or simulates the payment, of an empty account before it checks the terms. */
const ofAccount = new Set<string | undefined>([reason.simulation, "insufficient_funds"]);

const payeesMax = 8;

const recheckMs = 10_000;

/** Terms that a facilitator rejects: `areAll` if it rejects all, `isPartial` if it accepts those on another network. */
export type RejectedTerms = Readonly<{ message: string; areAll: boolean; isPartial: boolean }>;

/** Verifies a made-up payment, marked so that the facilitator can tell it from a buyer's. */
type VerifyInvented = (payment: PaymentPayload, offer: PaymentRequirements) => Promise<VerifyResponse>;

/**
 * Creates a check that a facilitator accepts payments on the offers' terms, repeated when they change. It verifies a payment of each
 * payee's lowest price from an empty account. If that fails because of the account, it verifies a payment of zero, which a token must
 * accept (ERC-20) if it was signed for the token's own name and version. Compares decimals if the facilitator lists them.
 *
 * @throws {FacilitationError} when there is no verdict.
 */
export function createTermsCheck(
  offers: () => readonly PaymentRequirements[],
  verify: VerifyInvented,
): (supported: SupportedKinds) => Promise<RejectedTerms | undefined> {
  let lastCheck: Readonly<{ terms: string; rejected: RejectedTerms | undefined; atMs: number }> | undefined;
  return async (supported) => {
    const decimals = explainDecimals(supported, offers());
    if (decimals !== undefined) return { message: decimals, areAll: true, isPartial: false };
    const payableRoutes = completeOffers(offers(), supported.kinds);
    const byPayee = Map.groupBy(payableRoutes, ({ payTo, asset, scheme, network }) =>
      [payTo, asset, scheme, network].join(" "),
    );
    const checkedOffers = [...byPayee.values()]
      .slice(0, payeesMax)
      .map((each) => each.reduce((one, other) => (BigInt(other.amount) < BigInt(one.amount) ? other : one)));
    const terms = JSON.stringify(checkedOffers);
    const isFresh = lastCheck?.rejected === undefined || performance.now() - lastCheck.atMs < recheckMs;
    if (lastCheck?.terms === terms && isFresh) return lastCheck.rejected;
    const rejectedTerms = await judgeOffers(checkedOffers, verify);
    lastCheck = { terms, rejected: rejectedTerms, atMs: performance.now() };
    return rejectedTerms;
  };
}

/** Checks offers; a network without a verdict does not affect the others. @throws {FacilitationError} when every network has a fault. */
async function judgeOffers(
  offers: readonly PaymentRequirements[],
  verify: VerifyInvented,
): Promise<RejectedTerms | undefined> {
  const judgedOffers = await Promise.all(
    offers.map(async (offer) => {
      try {
        return { ...offer, messages: await explainRejection(offer, verify), fault: undefined };
      } catch (fault) {
        if (!(fault instanceof FacilitationError)) throw fault;
        return { ...offer, messages: [], fault };
      }
    }),
  );
  const failedOffers = judgedOffers.filter(({ messages, fault }) => messages.length > 0 || fault !== undefined);
  if (failedOffers.length === 0) return undefined;
  const isPartial = judgedOffers.some(({ network }) => failedOffers.every((one) => one.network !== network));
  const fault = failedOffers.find((one) => one.fault !== undefined)?.fault;
  if (fault !== undefined && !isPartial) throw fault;
  const messages = [...new Set(failedOffers.flatMap((one) => one.messages))].join("; ");
  const rejection = `it rejects every payment to the seller's terms (token, payTo, price): ${messages}`;
  const faults = failedOffers.flatMap((one) => (one.fault ? `no verdict on ${one.network}: ${one.fault.message}` : []));
  const message = [...(messages === "" ? [] : [rejection]), ...new Set(faults)].join("; ");
  return { message, areAll: judgedOffers.every((one) => one.messages.length > 0), isPartial };
}

/** Returns why an offer's payments are rejected regardless of their signer, in one sentence; empty if they are not. */
async function explainRejection(offer: PaymentRequirements, verify: VerifyInvented): Promise<readonly string[]> {
  const judge = async (each: PaymentRequirements) => verify(await signDummyPayment(each), each);
  const { invalidReason, invalidMessage = "without a message" } = await judge(offer);
  if (ofTerms.has(invalidReason)) return [`${invalidReason}: ${invalidMessage}`];
  const emptyOffer = { ...offer, amount: "0" };
  if (!ofAccount.has(invalidReason) || (await judge(emptyOffer)).invalidReason !== reason.simulation) return [];
  const { name, version } = offer.extra;
  return [
    `token ${offer.asset} does not have the EIP-712 domain name "${name}", version "${version}"; correct token.name, token.version`,
  ];
}

async function signDummyPayment(accepted: PaymentRequirements): Promise<PaymentPayload> {
  const { generatePrivateKey, privateKeyToAccount } = await import("viem/accounts");
  const scheme = knownSchemes.find(({ name }) => name === accepted.scheme);
  if (scheme === undefined) throw new TypeError(`a route is sold by the unknown scheme ${accepted.scheme}`);
  const signer = await scheme.signer(privateKeyToAccount(generatePrivateKey()));
  return { accepted, ...(await signer.createPaymentPayload(2, accepted)) };
}

/** Describes a mismatch between the decimals of an offer's token and those used to convert prices; undefined if none is known. */
export function explainDecimals(
  { assets = [] }: Readonly<{ assets?: readonly SettledAsset[] | undefined }>,
  offers: readonly Pick<PaymentRequirements, "asset" | "extra" | "network">[],
): string | undefined {
  for (const { asset, extra, network } of offers) {
    const chargedDecimals = Number(extra["decimals"] ?? tokenDecimals);
    const settledAsset = assets.find(
      (each) => (each.network ?? network) === network && each.address.toLowerCase() === asset.toLowerCase(),
    );
    if (settledAsset?.decimals === undefined || settledAsset.decimals === chargedDecimals) continue;
    const setting = "decimals" in extra ? "the route's asset.decimals" : "token.address";
    return `token ${settledAsset.address} has ${settledAsset.decimals} decimals, but prices use ${chargedDecimals}; correct ${setting}`;
  }
  return undefined;
}
