import * as AbiParameters from "ox/AbiParameters";
import { canonicalContracts } from "../contracts.ts";
import { encodeAddress, encodeInteger, type Hex } from "../hex.ts";
import { getPermit2DomainSeparator, hashTokenPermissions, tokenType } from "../permit2.ts";
import { readApproval } from "../permit2-terms.ts";
import { reason, type Reason, type Rejection } from "../reason.ts";
import type { Order, Transfers } from "../scheme.ts";
import { signCall, toSignatureBytes, type Signature, type SignedPayment } from "../signed-payment.ts";
import { checkTerms, type Terms, rejectDifference } from "../terms.ts";
import {
  computeAuthorizationDigest,
  computeTypedDataDigest,
  encodeAuthorization,
  hashText,
  hashWords,
} from "../typed-data.ts";
import { channelsAddress, computeDepositNonce, encodeDeposit, type DepositCollection } from "./channel.ts";
import type { ChannelPayload } from "./payload.ts";
import { readChainId, type SignedVoucher } from "./voucher.ts";

type Deposit = Extract<ChannelPayload, { type: "deposit" }>;

/** A deposit's payment, and the rejection reasons that its clients know. */
type JudgedDeposit = Readonly<{ payment: SignedPayment; names: ReadonlyMap<Reason, Reason> }>;

/** A payer's signature for a collector, and how it is passed to the collector. */
type CollectorSignature = Pick<SignedPayment, "authorization"> &
  Readonly<{ digest: Uint8Array; signature: string; collect: (signature: Hex) => DepositCollection }>;

/** The scheme has no name for a used nonce, so `exact`'s is reported: it implies that an earlier copy may have paid. */
const sharedNames = [
  [reason.missingDomain, reason.channelDomain],
  [reason.balance, reason.insufficientDepositBalance],
  [reason.simulation, reason.depositSimulation],
  [reason.transaction, reason.depositTransaction],
  [reason.transferEvent, reason.depositTransaction],
] as const;
const eip3009Names = new Map<Reason, Reason>([
  ...sharedNames,
  [reason.signature, reason.depositSignature],
  [reason.validBefore, reason.depositEnded],
  [reason.validAfter, reason.depositEarly],
]);
const permit2Names = new Map<Reason, Reason>([
  ...sharedNames,
  [reason.signature, reason.depositPermit2Signature],
  [reason.validBefore, reason.depositPermit2Ended],
  [reason.permit2Allowance, reason.depositPermit2Allowance],
  [reason.nonceUsed, reason.permit2Nonce],
]);

/**
 * Checks everything about a deposit that depends neither on the time nor on the chain.
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field.
 */
export function checkDeposit(
  order: Order<Deposit>,
  { channelId }: Pick<SignedVoucher, "channelId">,
  transfers: Pick<Transfers, "assets" | "isSigned" | "contracts">,
): JudgedDeposit | Rejection {
  const { channelConfig, deposit } = order.payment;
  const terms = checkTerms(order, transfers.assets, { isMax: true });
  const hint = (order.requirements.extra as { assetTransferMethod?: unknown } | undefined)?.assetTransferMethod;
  const isPermit2 = hint === undefined ? "permit2Authorization" in deposit.authorization : hint === "permit2";
  const names = isPermit2 ? permit2Names : eip3009Names;
  const rename = (rejection: Rejection) => ({ ...rejection, reason: names.get(rejection.reason) ?? rejection.reason });
  if ("reason" in terms) return rename(terms);
  const authorized = isPermit2
    ? judgePermit2Deposit(order, channelId, terms)
    : judgeEip3009Deposit(order, channelId, terms);
  if ("reason" in authorized) return terms.unserved ?? authorized;
  const { digest, signature, collect, authorization } = authorized;
  const { payer, receiver: payTo } = channelConfig;
  const encodeCall = (signed: Hex | Signature) => ({
    to: channelsAddress,
    data: encodeDeposit(channelConfig, deposit.amount, collect(toSignatureBytes(signed))),
  });
  const call = signCall({ payer, digest, signature, encodeCall }, transfers);
  if ("reason" in call) return terms.unserved ?? rename(call);
  if (call.contract !== channelsAddress) {
    const message = "a wallet that does not exist yet (ERC-6492) can't deposit here; create it first.";
    return { reason: reason.depositWallet, message };
  }
  const { asset, unserved } = terms;
  const payment = { ...call, asset: asset.address, payer, payTo, amount: deposit.amount, authorization, unserved };
  return { payment, names };
}

function judgeEip3009Deposit(
  { payment: { channelConfig, deposit } }: Order<Deposit>,
  channelId: Hex,
  { asset }: Terms,
): CollectorSignature | Rejection {
  const sent = deposit.authorization.erc3009Authorization;
  if (sent === undefined) {
    const message = "payload.deposit.authorization has no erc3009Authorization.";
    return { reason: reason.depositAuthorization, message };
  }
  const { validAfter, validBefore, salt, signature } = sent;
  const nonce = computeDepositNonce(channelId, salt);
  const to = canonicalContracts.erc3009Collector.address;
  const words = encodeAuthorization({
    from: channelConfig.payer,
    to,
    value: deposit.amount,
    validAfter,
    validBefore,
    nonce,
  });
  return {
    authorization: { validAfter, validBefore, nonce },
    digest: computeAuthorizationDigest(asset.separator, words, "receive"),
    signature,
    collect: (signed) => ({ collector: "erc3009Collector", validAfter, validBefore, salt, signature: signed }),
  };
}

function judgePermit2Deposit(
  { payment: { channelConfig, deposit }, requirements, extensions }: Order<Deposit>,
  channelId: Hex,
  { asset }: Terms,
): CollectorSignature | Rejection {
  const sent = deposit.authorization.permit2Authorization;
  if (sent === undefined) {
    const message = "payload.deposit.authorization has no permit2Authorization.";
    return { reason: reason.channelPayload, message };
  }
  const { from, permitted, spender, nonce, deadline, witness, signature } = sent;
  const compared = [
    ["from", from, channelConfig.payer, reason.depositPermit2Signature],
    ["spender", spender, canonicalContracts.permit2Collector.address, reason.depositPermit2Spender],
    ["token", permitted.token, asset.address, reason.channelToken],
    ["amount", String(permitted.amount), String(deposit.amount), reason.depositPermit2Amount],
    ["channel", witness.channelId, channelId, reason.channelId],
  ] as const;
  const rejection = rejectDifference("the permit's", compared);
  if (rejection !== undefined) return rejection;
  const approval = readApproval(extensions, { from, token: permitted.token, amount: permitted.amount });
  if (approval !== undefined && "reason" in approval) return approval;
  const struct = hashWords(
    permitTypeHash,
    hashTokenPermissions(permitted.token, permitted.amount),
    encodeAddress(spender),
    encodeInteger(nonce),
    encodeInteger(deadline),
    hashWords(hashText(witnessType), channelId.slice(2)),
  );
  const encoded =
    approval === undefined
      ? "0x"
      : AbiParameters.encode(AbiParameters.from("uint256, uint256, uint8, bytes32, bytes32"), [
          approval.value,
          approval.deadline,
          approval.v,
          approval.r,
          approval.s,
        ]);
  return {
    authorization: { validAfter: 0n, validBefore: deadline, nonce: `0x${encodeInteger(nonce)}` },
    digest: computeTypedDataDigest(getPermit2DomainSeparator(readChainId(requirements)), struct),
    signature,
    collect: (signed) => ({ collector: "permit2Collector", nonce, deadline, signature: signed, approval: encoded }),
  };
}

const witnessType = "DepositWitness(bytes32 channelId)";
const permitTypeHash = hashText(
  `PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,DepositWitness witness)${witnessType}${tokenType}`,
);
