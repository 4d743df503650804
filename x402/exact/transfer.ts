import type { PaymentRequirements } from "@x402/core/types";
import { paths } from "../envelope.ts";
import type { Hex } from "../hex.ts";
import { MalformedPaymentError, parsePart } from "../malformed-payment-error.ts";
import type { Authorization } from "../typed-data.ts";
import { decimalUint256, evmAddress, signatureSentence, type ExactPayment } from "./payload.ts";

/** Parsed requirements of one payment on an EVM chain. */
export type Requirements = Readonly<{
  scheme: string;
  /** CAIP-2, as sent. */
  network: string;
  /** In the asset's smallest unit. */
  amount: bigint;
  asset: Hex;
  payTo: Hex;
  maxTimeoutSeconds: number;
  /** EIP-712 domain name of the asset, empty if the requirements have none. */
  name: string;
  version: string;
}>;

/** EIP-3009 transfer with the requirements that it must meet. */
export type Transfer = Readonly<{
  requirements: Requirements;
  /** Requirements that the client claims to have accepted. */
  accepted: Requirements;
  authorization: Authorization;
  signature: string;
}>;

/**
 * Parses the numbers and addresses of a well-formed payment.
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field.
 */
export function readTransfer(
  payment: ExactPayment,
  requirements: PaymentRequirements,
  accepted: PaymentRequirements,
): Transfer {
  return {
    authorization: readAuthorization(payment),
    requirements: parseRequirements(requirements, paths.requirements),
    accepted: parseRequirements(accepted, `${paths.payment}.accepted`),
    signature: payment.signature,
  };
}

function readAuthorization(payment: ExactPayment): Authorization {
  try {
    return parseAuthorization(payment);
  } catch (error) {
    if (error instanceof MalformedPaymentError) throw error.within(`${paths.payment}.payload`);
    throw error;
  }
}

/** Max length of a checked signature, in characters; those of smart wallets (ERC-6492) include a deployment. */
const signatureLengthMax = 16_384;

/**
 * Parses the numbers of an authorization.
 *
 * @throws {MalformedPaymentError} when a number does not fit 256 bits, or the signature is too long.
 */
function parseAuthorization({ signature, authorization }: ExactPayment): Authorization {
  if (signature.length > signatureLengthMax) throw new MalformedPaymentError("signature", signatureSentence);
  const { from, to, nonce } = authorization;
  const number = (field: "value" | "validAfter" | "validBefore") =>
    parsePart(decimalUint256, authorization[field], `authorization.${field}`);
  return {
    from,
    to,
    value: number("value"),
    validAfter: number("validAfter"),
    validBefore: number("validBefore"),
    nonce,
  };
}

function parseRequirements(wire: PaymentRequirements, path: string): Requirements {
  // The SDK's type always has `extra`; its schema allows it to be absent or null.
  const { name, version } = (wire.extra as Readonly<Record<string, unknown>> | null | undefined) ?? {};
  return {
    scheme: wire.scheme,
    network: wire.network,
    amount: parsePart(decimalUint256, wire.amount, `${path}.amount`),
    asset: parsePart(evmAddress, wire.asset, `${path}.asset`),
    payTo: parsePart(evmAddress, wire.payTo, `${path}.payTo`),
    maxTimeoutSeconds: wire.maxTimeoutSeconds,
    name: typeof name === "string" ? name : "",
    version: typeof version === "string" ? version : "",
  };
}
