import { PaymentPayloadV2Schema, PaymentRequirementsV2Schema } from "@x402/core/schemas";
import type { Authorization } from "./exact-payload.ts";
import { decimalUint256, evmAddress, exactPayload } from "./exact-payload.ts";
import type { Hex } from "./hex.ts";
import { MalformedPaymentError } from "./malformed-payment-error.ts";
import { reason, type Refusal } from "./reason.ts";

/** Requirements of one payment (x402 version 2, `PaymentRequirements`), parsed. */
export type Requirements = Readonly<{
  scheme: string;
  /** CAIP-2, as it was sent. */
  network: string;
  /** In the asset's smallest unit. */
  amount: bigint;
  asset: Hex;
  payTo: Hex;
  maxTimeoutSeconds: number;
  /** EIP-712 domain of the asset, empty where the requirements have none. */
  name: string;
  version: string;
}>;

/** A payment with the requirements that it has to meet. */
export type Payment = Readonly<{
  requirements: Requirements;
  /** The requirements that the client says it accepted. */
  accepted: Requirements;
  authorization: Authorization;
  signature: string;
}>;

/** A payment that can be judged, or the refusal of one that this facilitator has no way to read. */
export type ParsedPayment = Readonly<{ ok: true; payment: Payment } | { ok: false; refusal: Refusal; payer?: string }>;

const requirementsPath = "paymentRequirements";
const payloadPath = "paymentPayload";

/**
 * Reads a payment from what a client and a resource server sent (x402 version 2). Only `exact` payloads on EVM chains are read
 * further; other schemes and networks are refused by name first, because their fields have other forms.
 *
 * @throws {MalformedPaymentError} with the path of the first field that is wrong.
 */
export function parsePayment(paymentPayload: unknown, paymentRequirements: unknown, network: string): ParsedPayment {
  const refusedVersion = refuseVersion(paymentPayload);
  if (refusedVersion !== undefined) return { ok: false, refusal: refusedVersion };
  const requirements = parse(PaymentRequirementsV2Schema, paymentRequirements, requirementsPath);
  const payload = parse(PaymentPayloadV2Schema, paymentPayload, payloadPath);
  const refused = refuseKind(requirements, network);
  if (refused !== undefined) return { ok: false, refusal: refused };
  if ("permit2Authorization" in payload.payload) {
    const message = "Permit2 payments are not settled here; pay by EIP-3009 (transferWithAuthorization).";
    return { ok: false, refusal: { reason: reason.payloadType, message } };
  }
  const { signature, authorization } = parse(exactPayload, payload.payload, `${payloadPath}.payload`);
  return {
    ok: true,
    payment: {
      requirements: evmRequirements(requirements, requirementsPath),
      accepted: evmRequirements(payload.accepted, `${payloadPath}.accepted`),
      authorization,
      signature,
    },
  };
}

type WireRequirements = ReturnType<typeof PaymentRequirementsV2Schema.parse>;

function refuseVersion(paymentPayload: unknown): Refusal | undefined {
  if (typeof paymentPayload !== "object" || paymentPayload === null || !("x402Version" in paymentPayload))
    return undefined;
  const { x402Version } = paymentPayload;
  if (typeof x402Version !== "number" || x402Version === 2) return undefined;
  return {
    reason: reason.version,
    message: `x402 version ${x402Version} is not spoken here; send a version 2 payment.`,
  };
}

/** Says why requirements of this scheme and network can't be served, if so. */
function refuseKind({ scheme, network: asked }: WireRequirements, network: string): Refusal | undefined {
  if (scheme !== "exact") {
    return { reason: reason.scheme, message: `scheme "${scheme}" is not settled here; use "exact".` };
  }
  if (asked !== network) {
    return { reason: reason.network, message: `network "${asked}" is not settled here; use "${network}".` };
  }
  return undefined;
}

function evmRequirements(wire: WireRequirements, path: string): Requirements {
  const { name, version } = wire.extra ?? {};
  return {
    scheme: wire.scheme,
    network: wire.network,
    amount: parse(decimalUint256, wire.amount, `${path}.amount`),
    asset: parse(evmAddress, wire.asset, `${path}.asset`),
    payTo: parse(evmAddress, wire.payTo, `${path}.payTo`),
    maxTimeoutSeconds: wire.maxTimeoutSeconds,
    name: typeof name === "string" ? name : "",
    version: typeof version === "string" ? version : "",
  };
}

/** What the schemas of zod 3 (`@x402/core`) and of zod 4 (ours) have in common. */
type Schema<Output> = Readonly<{
  safeParse: (
    value: unknown,
  ) =>
    | { success: true; data: Output }
    | { success: false; error: { issues: readonly { path: readonly PropertyKey[]; message: string }[] } };
}>;

function parse<Output>(schema: Schema<Output>, value: unknown, path: string): Output {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new MalformedPaymentError([path, ...(issue?.path ?? [])].map(String).join("."), issue?.message ?? "is wrong");
}
