import { hash } from "node:crypto";
import { encodePaymentSignatureHeader } from "@x402/core/http";
import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import secp256k1 from "secp256k1";
import { readPayment, type Payment } from "#resource-server/sale/payment-header.ts";
import { encodeSignatureCheck } from "#facilitator/chain/token.ts";
import { encodeBytes, encodeInteger, type Hex } from "#x402/hex.ts";
import { approvesPermit2, computePermitDigest, encodeSettle, permit2Address, permit2Proxies } from "#x402/permit2.ts";
import { encodeSignature, formatSignature, toSignatureBytes, type Signature } from "#x402/signed-payment.ts";
import { sponsoringExtension } from "#x402/sponsored-approval.ts";
import { computeAuthorizationDigest, computeDomainSeparator, encodeAuthorization } from "#x402/typed-data.ts";
import type { ContractCall } from "#x402/wallet-signature.ts";
import {
  chainIds,
  contractWallet,
  getAccount,
  type methods,
  payTo,
  price,
  signers,
  startMs,
  stranger,
  token,
} from "./wallets.ts";

/** Defect of a payment that no service may accept. */
export const flaws = ["payee", "signature", "value"] as const;

export type Signing = Readonly<{
  wallet: string;
  chain: number;
  method: (typeof methods)[number];
  /** Signer named by an `upto` payment. */
  facilitator: number;
  /** Payments with the same number have the same nonce. */
  number: number;
  validSeconds: number;
  /** Nonce of the signed approval of Permit2 (EIP-2612), if there is one. */
  approval?: number | undefined;
  /** Payment-identifier. */
  identifier?: string | undefined;
  flaw?: (typeof flaws)[number] | undefined;
}>;

/** Signed payment as sent by its buyer, with what identifies it on the chain. */
export type SignedOffer = Readonly<{
  /** The same for all copies, whatever else they contain. */
  name: string;
  signing: Signing;
  payment: Payment;
  requirements: PaymentRequirements;
  /** Address without prefix, in lower case. */
  from: string;
  to: Hex;
  value: bigint;
  nonce: Hex;
  validBefore: number;
}>;

const signed = new Map<string, SignedOffer>();
const byCall = new Map<string, SignedOffer>();
const bySignature = new Map<unknown, SignedOffer>();
/** By the call that asks a contract wallet for a signature. */
const byCheck = new Map<Hex, SignedOffer>();
const offersMax = 5_000;

/** Limits the memory for payments signed by earlier runs. */
export function forgetOffers(): void {
  if (signed.size > offersMax) for (const known of [signed, byCall, bySignature, byCheck]) known.clear();
}

/** Signs a payment, once for all runs. */
export function signOffer(signing: Signing): SignedOffer {
  const name = JSON.stringify(signing);
  const known = signed.get(name) ?? sign(signing);
  signed.set(name, known);
  return known;
}

/** Finds a signed payment as sent to a service. */
export const findSent = ({ payload }: Pick<PaymentPayload, "payload">): SignedOffer | undefined =>
  bySignature.get(payload["signature"]);

/** Finds the signed payment whose signature a call asks its wallet for. */
export const findChecked = (data: Hex): SignedOffer | undefined => byCheck.get(data);

/** Call that a signed payment allows, and what it moves. */
export type PaymentCall = Readonly<{ offer: SignedOffer; amount: bigint }>;

/** Finds the signed payment that a call executes. */
export function findCalled({ to: contract, data }: ContractCall): PaymentCall | undefined {
  const to = contract.toLowerCase();
  const exact = byCall.get(`${to} ${data}`);
  if (exact !== undefined) return { offer: exact, amount: exact.value };
  // In a call of the `upto` proxy, the amount follows the approval, of five words, and the permit, of four.
  const start = 10 + 64 * (approvesPermit2(data) ? 9 : 4);
  const offer = byCall.get(`${to} ${data.slice(0, start)}${"0".repeat(64)}${data.slice(start + 64)}`);
  return offer && { offer, amount: BigInt(`0x${data.slice(start, start + 64)}`) };
}

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
  const sent: PaymentPayload = {
    x402Version: 2,
    accepted: requirements,
    payload: { signature: formatSignature(made), ...payload },
    extensions: {
      ...(approval === undefined ? {} : { [sponsoringExtension]: { info: buildApproval(terms, approval) } }),
      ...(identifier === undefined ? {} : { "payment-identifier": { info: { id: identifier } } }),
    },
  };
  const read = readPayment(encodePaymentSignatureHeader(sent));
  if (!read.ok) throw new TypeError(read.message);
  const name = [wallet, number, validSeconds, method, facilitator, chain, flaw ?? ""].join(" ");
  const { payment } = read;
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
  const isContract = wallet === contractWallet.name;
  const call = encodeCall(isContract ? formatSignature(made) : made);
  const check = encodeSignatureCheck(`0x${Buffer.from(digest).toString("hex")}`, formatSignature(made));
  if (isContract) byCheck.set(check, offer);
  byCall.set(`${call.to.toLowerCase()} ${call.data}`, offer);
  bySignature.set(sent.payload["signature"], offer);
  return offer;
}

function buildRequirements({ method, chain, facilitator }: Signing): PaymentRequirements {
  const { address: asset, name, version } = token;
  const extra = {
    eip3009: {},
    permit2: { assetTransferMethod: "permit2" },
    upto: { facilitatorAddress: signers[facilitator]?.address },
  }[method];
  return {
    scheme: method === "upto" ? "upto" : "exact",
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
        // This one is used to look up any `upto` amount.
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
