import type { SettleResponse, SupportedResponse, VerifyResponse, PaymentRequirements } from "@x402/core/types";
import { permit2Address } from "#x402/permit2.ts";
import { sponsoringExtension } from "#x402/sponsored-approval.ts";
import { buildSettleResponse, buildVerifyResponse } from "#x402/answer.ts";
import { type Refusal, reason } from "#x402/reason.ts";
import type { Hex } from "#x402/hex.ts";
import type { Transfers, Order, ReadPayment, SettledScheme, Settling } from "#x402/scheme.ts";
import { readEnvelope, readPayload, readRequirements } from "#x402/envelope.ts";
import { paths } from "#x402/fields.ts";
import { countCaller, identifyCaller, type Caller, type CallerInfo } from "../callers/caller.ts";
import type { TokenDecimals } from "../chain/chain-watch.ts";
import type { FacilitatorMetrics } from "../facilitator-metrics.ts";

/** Supported network and schemes, and the settling account. */
export type OperationsOptions = Readonly<{
  network: `eip155:${number}`;
  signer: Hex;
  schemes: readonly SettlingScheme[];
}>;

/** Accepted token. Its decimals let a seller check its prices. */
type SettledAsset = Readonly<{ address: Hex; decimals: number | undefined }>;

/** Three operations of an x402 facilitator; see `Facilitator`. */
export type Operations = Readonly<{
  verify: (request: PaymentRequest, caller: CallerInfo) => Promise<VerifyResponse>;
  settle: (request: PaymentRequest, caller: CallerInfo) => Promise<SettleResponse>;
  /** Returns no kinds, and an error, while the signer can't pay for gas, because no client should sign a payment then. */
  supported: () => SupportedResponse & Readonly<{ error?: string; assets?: readonly SettledAsset[] }>;
}>;

export type OperationsDependencies = Readonly<{
  /** Returns the transfers that schemes use to settle on behalf of a caller. */
  transfersFor: (caller: Caller) => Transfers;
  metrics: Pick<FacilitatorMetrics, "startVerify" | "startSettle">;
  shortage?: () => string | undefined;
  /** Decimals of the accepted tokens; empty until known. */
  decimals?: () => TokenDecimals;
  /** Canonical contracts that the chain has, by lowercase address; empty until known. */
  contracts?: () => ReadonlySet<string>;
}>;

/** Creates the operations of x402 version 2 for these schemes. */
export function createOperations(
  options: OperationsOptions,
  {
    transfersFor,
    metrics,
    shortage = () => undefined,
    decimals = () => new Map(),
    contracts: found = () => new Set(),
  }: OperationsDependencies,
): Operations {
  const { network, signer, schemes } = options;
  const verify: Operations["verify"] = async (request, facts) => {
    const read = readRequest(request, options);
    if ("refusal" in read) return buildVerifyResponse(buildRefusal(read.refusal));
    return buildVerifyResponse(await read.by.settling.verify(read.order, transfersFor(readCaller(request, facts))));
  };
  const settle: Operations["settle"] = async (request, facts) => {
    const read = readRequest(request, options);
    if ("refusal" in read) return buildSettleResponse(buildRefusal(read.refusal), network);
    return buildSettleResponse(
      await read.by.settling.settle(read.order, transfersFor(readCaller(request, facts))),
      network,
    );
  };
  return {
    verify: (...call) =>
      measure(metrics.startVerify(), verify(...call), ({ invalidReason }) => invalidReason ?? "valid"),
    settle: (...call) => measure(metrics.startSettle(), settle(...call), ({ errorReason }) => errorReason ?? "settled"),
    supported: () => {
      const error = shortage();
      const contracts = found();
      const assets = [...decimals()].map(([address, digits]) => ({ address, decimals: digits }));
      const kinds = schemes.flatMap(({ scheme, settling }) =>
        settling.kinds({ contracts, signer }).map((extra) => buildKind(scheme.name, network, extra)),
      );
      const extensions = contracts.has(permit2Address.toLowerCase()) ? [sponsoringExtension] : [];
      const signers = { "eip155:*": [signer] };
      return { ...(error === undefined ? { kinds } : { kinds: [], error }), extensions, signers, assets };
    },
  };
}

function buildKind(scheme: string, network: OperationsOptions["network"], extra: Readonly<Record<string, unknown>>) {
  const kind = { x402Version: 2, scheme, network };
  return Object.keys(extra).length === 0 ? kind : { ...kind, extra: { ...extra } };
}

/** Builds the response to a payment rejected before its payer was known. */
function buildRefusal(refusal: Refusal) {
  return { answer: { state: "refused", refusal }, payer: undefined } as const;
}

function readCaller(request: PaymentRequest, facts: CallerInfo): Caller {
  const waiting = { caller: countCaller(facts), signal: facts.signal };
  return {
    ...identifyCaller(facts, getSentPayment(request), request.paymentRequirements),
    request: facts.request,
    waiting,
  };
}

async function measure<T>(
  end: (outcome: string) => void,
  work: Promise<T>,
  outcome: (result: T) => string,
): Promise<T> {
  try {
    const result = await work;
    end(outcome(result));
    return result;
  } catch (error) {
    end(error instanceof Error && "code" in error ? String(error.code) : "internal_error");
    throw error;
  }
}

/** Scheme and the facilitator's operations for it. */
type SettlingScheme = Readonly<{ scheme: SettledScheme; settling: Settling }>;

/** Payment of a request: as received, or already parsed by this process. */
export type PaymentRequest = Readonly<
  { paymentRequirements: unknown } & ({ paymentPayload: unknown } | { read: ReadPayment })
>;

/** Parsed request: the scheme that settles the payment, or why none can. */
export type ReadRequest = Readonly<{ by: SettlingScheme; order: Order<unknown> } | { refusal: Refusal }>;

/**
 * Parses the request. Checks version, scheme and network first, because other versions, schemes and networks have different fields.
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field.
 */
function readRequest(
  request: PaymentRequest,
  { network, schemes }: Readonly<{ network: string; schemes: readonly SettlingScheme[] }>,
): ReadRequest {
  const sent = getSentPayment(request);
  const version = refuseVersion(sent);
  if (version !== undefined) return { refusal: version };
  const requirements = readRequirements(request.paymentRequirements, paths.requirements);
  const envelope =
    "read" in request ? { ...request.read, payload: request.read.sent.payload } : readEnvelope(sent, paths.payment);
  const by = schemes.find(({ scheme }) => scheme.name === requirements.scheme);
  if (by === undefined) return { refusal: refuseScheme(requirements, schemes) };
  if (requirements.network !== network) return { refusal: refuseNetwork(requirements, network) };
  const refusal = by.settling.refusePayload(envelope.payload);
  if (refusal !== undefined) return { refusal };
  const isRead = "read" in request && request.read.scheme === by.scheme;
  const payment = isRead
    ? request.read.payment
    : readPayload(by.scheme, envelope, { path: paths.payment, audience: "seller" });
  // The SDK's schema admits null.
  const extensions = envelope.sent.extensions ?? {};
  return { by, order: { payment, requirements, accepted: envelope.accepted, extensions } };
}

/** Returns the payment as sent by its client. */
function getSentPayment(request: PaymentRequest): unknown {
  return "read" in request ? request.read.sent : request.paymentPayload;
}

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

function refuseScheme({ scheme }: PaymentRequirements, schemes: readonly SettlingScheme[]): Refusal {
  const known = schemes.map((settling) => `"${settling.scheme.name}"`).join(" or ");
  return { reason: reason.scheme, message: `scheme "${scheme}" is not settled here; use ${known}.` };
}

function refuseNetwork({ network: required }: PaymentRequirements, network: string): Refusal {
  return { reason: reason.network, message: `network "${required}" is not settled here; use "${network}".` };
}
