import * as AbiFunction from "ox/AbiFunction";
import { canonicalContracts } from "./contracts.ts";
import { encodeAddress, encodeInteger, type Hex, type Word } from "./hex.ts";
import { cacheSeparator, computeTypedDataDigest, hashText, hashWords } from "./typed-data.ts";

export const permit2Address = canonicalContracts.permit2.address;

/** Scheme of the signed witness. For `upto`, the witness names the facilitator, whose call specifies the amount. */
export type Permit2Scheme = "exact" | "upto";

/** Contracts that settle Permit2 payments. A payer permits one of them, which can pay only the signed recipient. */
export const permit2Proxies: Readonly<Record<Permit2Scheme, Hex>> = {
  exact: canonicalContracts.exactProxy.address,
  upto: canonicalContracts.uptoProxy.address,
};

/** Terms of a Permit2 payment. Amounts in the token's smallest unit, times in Unix seconds. */
export type Permit = Readonly<{
  token: Hex;
  /** The permitted amount: the price for `exact`, the maximum for `upto`. */
  amount: bigint;
  from: Hex;
  spender: Hex;
  nonce: bigint;
  deadline: bigint;
  to: Hex;
  /** The only account that may settle an `upto` payment; undefined for `exact`. */
  facilitator: Hex | undefined;
  validAfter: bigint;
}>;

const witnessTypes: Readonly<Record<Permit2Scheme, string>> = {
  exact: "Witness(address to,uint256 validAfter)",
  upto: "Witness(address to,address facilitator,uint256 validAfter)",
};
/** EIP-712 type of the permitted tokens, appended to the type string of every permit. */
export const tokenType = "TokenPermissions(address token,uint256 amount)";
const tokenTypeHash = hashText(tokenType);
const witnessTypeHashes = { exact: hashText(witnessTypes.exact), upto: hashText(witnessTypes.upto) };
const permitTypeHashes = { exact: hashPermitType("exact"), upto: hashPermitType("upto") };
const domainTypeHash = hashText("EIP712Domain(string name,uint256 chainId,address verifyingContract)");

function hashPermitType(scheme: Permit2Scheme): Word {
  const fields = "TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness";
  return hashText(`PermitWitnessTransferFrom(${fields})${tokenType}${witnessTypes[scheme]}`);
}

export function hashTokenPermissions(token: Hex, amount: bigint): Word {
  return hashWords(tokenTypeHash, encodeAddress(token), encodeInteger(amount));
}

/** Computes the hash that the payer signs (EIP-712, Permit2's `PermitWitnessTransferFrom`). It identifies the payment on its chain. */
export function computePermitDigest(permit: Permit, chainId: number): Uint8Array {
  const scheme = getScheme(permit);
  const { token, amount, spender, nonce, deadline } = permit;
  const struct = hashWords(
    permitTypeHashes[scheme],
    hashTokenPermissions(token, amount),
    encodeAddress(spender),
    encodeInteger(nonce),
    encodeInteger(deadline),
    hashWords(witnessTypeHashes[scheme], encodeWitness(permit)),
  );
  return computeTypedDataDigest(getPermit2DomainSeparator(chainId), struct);
}

export const getPermit2DomainSeparator = cacheSeparator((chainId) =>
  hashWords(domainTypeHash, hashText("Permit2"), encodeInteger(BigInt(chainId)), encodeAddress(permit2Address)),
);

function getScheme({ facilitator }: Permit): Permit2Scheme {
  return facilitator === undefined ? "exact" : "upto";
}

function encodeWitness({ to, facilitator, validAfter }: Permit): Word {
  return encodeAddress(to) + (facilitator === undefined ? "" : encodeAddress(facilitator)) + encodeInteger(validAfter);
}

/** Payer's signed approval of Permit2 (EIP-2612), which the proxy executes before the transfer. */
export type SponsoredApproval = Readonly<{ value: bigint; deadline: bigint; r: Hex; s: Hex; v: number }>;

type PermitCall = Readonly<{ permit: Permit; amount: bigint; signature: Hex; approval: SponsoredApproval | undefined }>;

const structs = [
  "struct TokenPermissions { address token; uint256 amount; }",
  "struct Permit { TokenPermissions permitted; uint256 nonce; uint256 deadline; }",
  "struct Approval { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }",
  "struct Witness { address to; uint256 validAfter; }",
  "struct UptoWitness { address to; address facilitator; uint256 validAfter; }",
] as const;
const settleExact = AbiFunction.from([
  "function settle(Permit permit, address owner, Witness witness, bytes signature)",
  ...structs,
]);
const settleExactWithPermit = AbiFunction.from([
  "function settleWithPermit(Approval approval, Permit permit, address owner, Witness witness, bytes signature)",
  ...structs,
]);
const settleUpto = AbiFunction.from([
  "function settle(Permit permit, uint256 amount, address owner, UptoWitness witness, bytes signature)",
  ...structs,
]);
const settleUptoWithPermit = AbiFunction.from([
  "function settleWithPermit(Approval approval, Permit permit, uint256 amount, address owner, UptoWitness witness, bytes signature)",
  ...structs,
]);

/** Encodes the call to the scheme's proxy that moves `amount` from the payer to the signed recipient. */
export function encodeSettle({ permit, amount, signature, approval }: PermitCall): Hex {
  const { token, from: owner, nonce, deadline, to, facilitator, validAfter } = permit;
  const signed = { permitted: { token, amount: permit.amount }, nonce, deadline };
  if (facilitator === undefined) {
    const rest = [signed, owner, { to, validAfter }, signature] as const;
    return approval === undefined
      ? AbiFunction.encodeData(settleExact, rest)
      : AbiFunction.encodeData(settleExactWithPermit, [approval, ...rest]);
  }
  const rest = [signed, amount, owner, { to, facilitator, validAfter }, signature] as const;
  return approval === undefined
    ? AbiFunction.encodeData(settleUpto, rest)
    : AbiFunction.encodeData(settleUptoWithPermit, [approval, ...rest]);
}

const approving = new Set([settleExactWithPermit, settleUptoWithPermit].map((item) => AbiFunction.getSelector(item)));

/** Returns whether a settlement's call also approves Permit2, so that no earlier allowance is needed. */
export function approvesPermit2(callData: Hex): boolean {
  return approving.has(callData.slice(0, 10) as Hex);
}

const exactSelectors = [settleExact, settleExactWithPermit].map((item) => AbiFunction.getSelector(item));

/** Sizes in words: of an approval, which precedes the permit, and of a permit with its owner and witness. */
const approvalWords = 5;
const termWords = 7;

const uptoSelectors = [settleUpto, settleUptoWithPermit].map((item) => AbiFunction.getSelector(item));
/** Words before the facilitator in the call: the permit, the amount, the owner and the recipient. */
const facilitatorWord = 7;

/** Reads the only account that may submit a call to the `upto` proxy, in lower case; undefined for any other call. */
export function readNamedFacilitator(callData: Hex): Hex | undefined {
  const call = uptoSelectors.indexOf(callData.slice(0, 10).toLowerCase() as Hex);
  if (call === -1) return undefined;
  const end = 10 + (call * approvalWords + facilitatorWord + 1) * 64;
  return `0x${callData.slice(end - 40, end).toLowerCase()}`;
}

/** Reads the signed terms from a call to the `exact` proxy, in lower case; undefined for any other call. */
export function readSettleTerms(callData: Hex): string | undefined {
  const call = exactSelectors.indexOf(callData.slice(0, 10).toLowerCase() as Hex);
  if (call === -1) return undefined;
  const start = 10 + call * approvalWords * 64;
  return callData.slice(start, start + termWords * 64).toLowerCase();
}
