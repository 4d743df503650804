import type { PaymentRequirements } from "@x402/core/types";
import { decimalUint256, evmAddress, paths, parsePart } from "./fields.ts";
import { zeroAddress, type Hex } from "./hex.ts";
import { reason, type Reason, type Rejection } from "./reason.ts";
import type { Order, Transfers } from "./scheme.ts";
import type { AcceptedAsset } from "./signed-payment.ts";
import { computeDomainSeparator } from "./typed-data.ts";

export type Requirements = Readonly<{
  scheme: string;
  network: string;
  /** Amount in the asset's smallest unit. */
  amount: bigint;
  asset: Hex;
  payTo: Hex;
  maxTimeoutSeconds: number;
  /** EIP-712 domain name of the asset, empty if the requirements have none. */
  name: string;
  version: string;
  /** How the tokens are moved (x402 version 2, `extra.assetTransferMethod`). */
  method: string;
}>;

/** Services for checks without the chain, for which only a key's signature is valid. */
export const keysOnly: Pick<Transfers, "assets" | "isSigned" | "contracts" | "checkWallet"> = {
  assets: new Map(),
  contracts: { has: () => true },
  isSigned: (_payment, recover) => recover(),
  checkWallet: async () => ({ reason: reason.signature, message: "no key signed the payment." }),
};

/** A payment's terms: the seller's requirements, the token, and, if new payments in that token are rejected, why. */
export type Terms = Readonly<{ required: Requirements; asset: AcceptedAsset; unserved: Rejection | undefined }>;

/**
 * Parses the terms of an order, or returns why they are rejected: the client must have accepted the resource server's requirements (x402
 * version 2, verification steps of the schemes on EVM). `isMax` means that the accepted amount is a maximum and the server may charge less.
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field.
 */
export function checkTerms(
  { requirements, accepted: sent }: Pick<Order<unknown>, "requirements" | "accepted">,
  assets: Transfers["assets"],
  { isMax = false }: Readonly<{ isMax?: boolean }> = {},
): Terms | Rejection {
  const required = parseRequirements(requirements, paths.requirements);
  const accepted = parseRequirements(sent, `${paths.payment}.accepted`);
  const rejection = rejectAccepted(accepted, required, isMax);
  if (rejection !== undefined) return rejection;
  const { asset: address, name, version, method, network } = required;
  if (method === "eip3009" && (name === "" || version === "")) {
    const message = "paymentRequirements.extra has no name and version of the token's EIP-712 domain; add both.";
    return { reason: reason.missingDomain, message };
  }
  const token = assets.get(address.toLowerCase());
  const unserved = rejectToken(required, token, assets);
  if (token !== undefined && unserved === undefined) return { required, asset: token, unserved };
  // A payment recorded before the token was removed from the settings, or changed in them, is identified by its own terms.
  const domain = { address, name, version, chainId: Number(network.split(":")[1]) };
  return { required, asset: { ...domain, separator: computeDomainSeparator(domain) }, unserved };
}

const comparedFields = [
  "scheme",
  "network",
  "amount",
  "asset",
  "payTo",
  "maxTimeoutSeconds",
  "name",
  "version",
] as const;

function rejectAccepted(accepted: Requirements, required: Requirements, isMax: boolean): Rejection | undefined {
  const field = comparedFields
    .filter((name) => !isMax || name !== "amount")
    .find((name) => formatForComparison(accepted[name]) !== formatForComparison(required[name]));
  if (field === undefined) return undefined;
  const path = field === "name" || field === "version" ? `extra.${field}` : field;
  return {
    reason: reason.requirements,
    message: `paymentPayload.accepted.${path} is "${accepted[field]}", the requirements have "${required[field]}"; pay with the requirements unchanged.`,
  };
}

/** Formats a value for comparison: lowercases addresses; no other compared value starts with 0x. */
function formatForComparison(value: string | number | bigint): string {
  const text = String(value);
  return text.startsWith("0x") ? text.toLowerCase() : text;
}

function rejectToken(
  { asset, name, version, method }: Requirements,
  token: AcceptedAsset | undefined,
  assets: Transfers["assets"],
): Rejection | undefined {
  if (token === undefined) {
    const allowed = [...assets.values()].map(({ address }) => address).join(", ");
    return { reason: reason.requirements, message: `asset ${asset} is not settled here; use one of ${allowed}.` };
  }
  const isSignedForToken = method === "eip3009";
  if (name !== token.name && (isSignedForToken || name !== "")) {
    return { reason: reason.tokenName, message: `extra.name is "${name}", but the token's name is "${token.name}".` };
  }
  if (version !== token.version && (isSignedForToken || version !== "")) {
    return {
      reason: reason.tokenVersion,
      message: `extra.version is "${version}", but the token's version is "${token.version}".`,
    };
  }
  return undefined;
}

function parseRequirements(wire: PaymentRequirements, path: string): Requirements {
  // The SDK's type always has `extra`; its schema allows it to be absent or null.
  const { name, version, assetTransferMethod } =
    (wire.extra as Readonly<Record<string, unknown>> | null | undefined) ?? {};
  const method = wire.scheme === "upto" ? "permit2" : (assetTransferMethod ?? "eip3009");
  return {
    scheme: wire.scheme,
    network: wire.network,
    amount: parsePart(decimalUint256, wire.amount, `${path}.amount`),
    asset: parsePart(evmAddress, wire.asset, `${path}.asset`),
    payTo: parsePart(evmAddress, wire.payTo, `${path}.payTo`),
    maxTimeoutSeconds: wire.maxTimeoutSeconds,
    name: typeof name === "string" ? name : "",
    version: typeof version === "string" ? version : "",
    method: String(method),
  };
}

/** Compared value: its name, both values, and the reason if they differ. The case of hexadecimal digits is ignored. */
type ComparedValue = readonly [what: string, found: string, expected: string, code: Reason];

/** Returns why the values don't match: the first one that differs or is no account. `whose` is their owner in the message. */
export function rejectDifference(whose: string, compared: readonly ComparedValue[]): Rejection | undefined {
  for (const [what, found, expected, code] of compared) {
    if (found.toLowerCase() === expected.toLowerCase() && found !== zeroAddress) continue;
    return { reason: code, message: `${whose} ${what} is ${found}, expected ${expected}.` };
  }
  return undefined;
}
