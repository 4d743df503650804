import { hash } from "node:crypto";
import { encodePaymentSignatureHeader } from "@x402/core/http";
import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import secp256k1 from "secp256k1";
import { readPayment, type Payment } from "#resource-server/sale/payment-header.ts";
import { encodeBytes, encodeInteger, type Hex } from "#x402/hex.ts";
import { computePermitDigest, encodeSettle, permit2Address, permit2Proxies } from "#x402/permit2.ts";
import { encodeSignature, formatSignature, toSignatureBytes, type Signature } from "#x402/signed-payment.ts";
import { sponsoringExtension } from "#x402/sponsored-approval.ts";
import { computeAuthorizationDigest, computeDomainSeparator, encodeAuthorization } from "#x402/typed-data.ts";
import type { ContractCall } from "#x402/wallet-signature.ts";
import { recordOffer, signOnce, type SignedOffer, type Signing } from "./signed-offers.ts";
import {
  authorizerAddress,
  chainIds,
  contractWallet,
  getAccount,
  payTo,
  price,
  signers,
  startMs,
  stranger,
  token,
  withdrawDelay,
} from "./wallets.ts";

/** Signs a payment, once for all runs. */
export const signOffer = (signing: Signing): SignedOffer => signOnce(signing, sign);

type Terms = Readonly<{ from: Hex; to: Hex; value: bigint; nonce: Hex; validAfter: bigint; validBefore: bigint }>;
/** The signed data, in wire format and as a call. */
type Unsigned = Readonly<{
  digest: Uint8Array;
  payload: Record<string, unknown>;
  encodeCall: (signature: Hex | Signature) => ContractCall;
}>;

function sign(signing: Signing): SignedOffer {
  const { wallet, chain, method, number, validSeconds, approval, identifier, flaw, facilitator } = signing;
  const { key, address: from } = getAccount(wallet);
  const nonce: Hex = `0x${hash("sha256", `nonce ${number}`)}`;
  const validBefore = startMs / 1_000 + validSeconds;
  const to = flaw === "payee" ? stranger : payTo;
  const value = flaw === "value" ? price - 1n : price;
  const terms = { from, to, value, nonce, validAfter: 0n, validBefore: BigInt(validBefore) };
  const requirements = buildRequirements(signing);
  const { digest, payload, encodeCall } = method === "eip3009" ? authorize(terms, chain) : permit(terms, signing);
  const { signature, recid } = secp256k1.ecdsaSign(digest, flaw === "signature" ? getAccount("stranger").key : key);
  const made: Signature = { compact: signature, yParity: recid as 0 | 1 };
  const signedBy = formatSignature(made);
  const extensions = approval === undefined ? {} : { [sponsoringExtension]: { info: buildApproval(terms, approval) } };
  const payment = toPayment({
    accepted: requirements,
    payload: { signature: signedBy, ...payload },
    identifier,
    extensions,
  });
  const name = [wallet, number, validSeconds, method, facilitator, chain, flaw ?? ""].join(" ");
  const offer = {
    name,
    signing,
    payment,
    requirements,
    from: from.slice(2).toLowerCase(),
    to,
    value,
    nonce,
    validBefore,
  };
  const call = encodeCall(wallet === contractWallet.name ? signedBy : made);
  recordOffer(offer, { digest, signature: signedBy, call });
  return offer;
}

/** Reads a payment as a seller does. */
export function toPayment({
  identifier,
  extensions = {},
  ...sent
}: Pick<PaymentPayload, "accepted" | "payload" | "extensions"> &
  Readonly<{ identifier: string | undefined }>): Payment {
  const identified = identifier === undefined ? {} : { "payment-identifier": { info: { id: identifier } } };
  const header = encodePaymentSignatureHeader({
    x402Version: 2,
    ...sent,
    extensions: { ...extensions, ...identified },
  });
  const read = readPayment(header);
  if (!read.ok) throw new TypeError(read.message);
  return read.payment;
}

export function buildRequirements({ method, chain, facilitator }: Signing): PaymentRequirements {
  const { address: asset, name, version } = token;
  const extra = {
    eip3009: {},
    permit2: { assetTransferMethod: "permit2" },
    upto: { facilitatorAddress: signers[facilitator]?.address },
    channel: { receiverAuthorizer: authorizerAddress, withdrawDelay },
  }[method];
  return {
    scheme: { eip3009: "exact", permit2: "exact", upto: "upto", channel: "batch-settlement" }[method],
    network: `eip155:${chain}`,
    amount: String(price),
    asset,
    payTo,
    maxTimeoutSeconds: 300,
    extra: { name, version, ...extra },
  };
}

const separators = chainIds.map((chainId) => computeDomainSeparator({ ...token, chainId }));
export const separatorOf = (chain: number) => separators[chainIds.findIndex((id) => id === chain)] ?? "0x";

function authorize(terms: Terms, chain: number): Unsigned {
  const { from, to, value, nonce, validBefore } = terms;
  const words = encodeAuthorization(terms);
  const wire = { from, to, value: String(value), validAfter: "0", validBefore: String(validBefore), nonce };
  return {
    digest: computeAuthorizationDigest(separatorOf(chain), words),
    payload: { authorization: wire },
    encodeCall: (signature) => ({
      to: token.address,
      data:
        typeof signature === "string"
          ? `0xcf092995${words}${encodeInteger(0xe0n)}${encodeBytes(signature)}`
          : `0xe3ee160e${words}${encodeSignature(signature)}`,
    }),
  };
}

function permit(terms: Terms, { method, chain, facilitator: index, approval }: Signing): Unsigned {
  const { from, to, value, validBefore: deadline, validAfter } = terms;
  const scheme = method === "upto" ? "upto" : "exact";
  const facilitator = method === "upto" ? signers[index]?.address : undefined;
  const [spender, nonce] = [permit2Proxies[scheme], BigInt(terms.nonce)];
  const permitted = { token: token.address, amount: value };
  const signing = { ...permitted, from, spender, nonce, deadline, to, facilitator, validAfter };
  const wire = { permitted: { ...permitted, amount: String(value) }, from, spender, nonce: String(nonce) };
  const { r, s, v } = signApproval(terms, approval ?? 0);
  return {
    digest: computePermitDigest(signing, chain),
    payload: {
      permit2Authorization: { ...wire, deadline: String(deadline), witness: { to, facilitator, validAfter: "0" } },
    },
    encodeCall: (signature) => ({
      to: spender,
      data: encodeSettle({
        permit: signing,
        // Calls of `upto` with any amount are looked up by the one with amount 0.
        amount: method === "upto" ? 0n : value,
        signature: toSignatureBytes(signature),
        approval: approval === undefined ? undefined : { value, deadline, r, s, v },
      }),
    }),
  };
}

/** Signs an approval; the virtual token needs only a hash that contains the nonce. */
function signApproval({ from, value, validBefore }: Terms, nonce: number) {
  const digest = hash("sha256", `approval ${nonce} by ${from} of ${value} until ${validBefore}`, "buffer");
  const { signature, recid } = secp256k1.ecdsaSign(digest, getAccount("stranger").key);
  const digits = Buffer.from(signature).toString("hex");
  return { r: `0x${digits.slice(0, 64)}`, s: `0x${digits.slice(64)}`, v: 27 + recid } as const;
}

function buildApproval(terms: Terms, nonce: number): Readonly<Record<string, string>> {
  const { from, value, validBefore } = terms;
  const { r, s, v } = signApproval(terms, nonce);
  const signature = `${r}${s.slice(2)}${v.toString(16)}`;
  const amounts = { amount: String(value), nonce: String(nonce), deadline: String(validBefore) };
  return { from, asset: token.address, spender: permit2Address, ...amounts, signature, version: "1" };
}
