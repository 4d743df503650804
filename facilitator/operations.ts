import { rememberLast } from "#daemon/memoize.ts";
import { createSlidingWindow } from "#daemon/sliding-window.ts";
import type { SettleResponse, SupportedResponse, VerifyResponse, PaymentRequirements } from "@x402/core/types";
import { permit2Address } from "#x402/permit2.ts";
import { sponsoringExtension } from "#x402/sponsored-approval.ts";
import { buildSettleResponse, buildVerifyResponse, reject } from "#x402/payment-result.ts";
import { type Rejection, reason } from "#x402/reason.ts";
import type { Hex } from "#x402/hex.ts";
import type { Transfers, Order, ReadPayment, SettledScheme, Settling } from "#x402/scheme.ts";
import { readEnvelope, readPayload, readRequirements } from "#x402/envelope.ts";
import { paths } from "#x402/fields.ts";
import { countCaller, identifyCaller, type Caller, type CallerInfo, findNetwork } from "./callers/caller.ts";
import type { TokenDecimals } from "./chain/chain-watch.ts";
import type { RecordOutcome, FacilitatorMetrics } from "./facilitator-metrics.ts";
import { limitSellerRates } from "./seller-limits.ts";
import type { FacilitatorSettings } from "./settings.ts";

export type SettledNetwork = Readonly<{
  network: `eip155:${number}`;
  signers: readonly [Hex, ...Hex[]];
  transfersFor: (caller: Caller) => Transfers;
  /** Returns why no payment can be settled now: the node fails, or no signer can pay. */
  problem: () => string | undefined;
  shortage: (account: Hex) => string | undefined;
  decimals: () => TokenDecimals;
  contracts: () => ReadonlySet<string> | undefined;
}>;

export type OperationsOptions = Readonly<{
  networks: readonly [SettledNetwork, ...SettledNetwork[]];
  schemes: readonly SettlingScheme[];
  sellers?: FacilitatorSettings["sellers"] | undefined;
}>;

type SettledAsset = Readonly<{ network: string; address: Hex; decimals: number | undefined }>;

export type Operations = Readonly<{
  verify: (request: PaymentRequest, caller: CallerInfo) => Promise<VerifyResponse>;
  settle: (request: PaymentRequest, caller: CallerInfo) => Promise<SettleResponse>;
  /**
   * Omits the kinds of a network that can't settle now, so that no client signs a payment for it. An SDK seller that starts at such a time
   * retries on each request if the list is empty, but exits if it lacks only some of its networks.
   */
  supported: () => SupportedResponse & Readonly<{ error?: string; assets?: readonly SettledAsset[] }>;
}>;

/** Max terms checks counted as such, because any caller can declare its calls to be terms checks. */
const termsChecksPerMinuteMax = 60;

export function createOperations(
  options: OperationsOptions,
  { metrics, monotonicMs }: Readonly<{ metrics: FacilitatorMetrics; monotonicMs: () => number }>,
): Operations {
  const { networks, sellers = [] } = options;
  const chargeCall = limitSellerRates(sellers, { metrics, monotonicMs });
  const termsChecks = createSlidingWindow(60_000, monotonicMs);
  const startVerify = ({ isTermsCheck = false }: CallerInfo): RecordOutcome => {
    const end = metrics.startVerify();
    if (!isTermsCheck || termsChecks.times().length >= termsChecksPerMinuteMax) return end;
    termsChecks.add();
    return (_, network) => end("terms_check", network);
  };
  const verify: Operations["verify"] = async (request, facts) => {
    const parsedRequest = readRequest(request, options);
    if ("rejection" in parsedRequest) return buildVerifyResponse(reject(parsedRequest.rejection, undefined));
    const transfers = parsedRequest.on.transfersFor(readCaller(request, facts));
    return buildVerifyResponse(await parsedRequest.by.settling.verify(parsedRequest.order, transfers));
  };
  const settle: Operations["settle"] = async (request, facts) => {
    const read = readRequest(request, options);
    if ("rejection" in read) return buildSettleResponse(reject(read.rejection, undefined), networks[0].network);
    const transfers = read.on.transfersFor(readCaller(request, facts));
    return buildSettleResponse(await read.by.settling.settle(read.order, transfers), read.on.network);
  };
  const measure = async <T>(
    end: RecordOutcome,
    { paymentRequirements }: PaymentRequest,
    work: Promise<T>,
    outcome: (result: T) => string,
  ): Promise<T> => {
    const network = findNetwork(paymentRequirements, networks)?.network ?? "";
    try {
      const result = await work;
      end(outcome(result), network);
      return result;
    } catch (error) {
      end(error instanceof Error && "code" in error ? String(error.code) : "internal_error", network);
      throw error;
    }
  };
  return {
    verify: async (request, facts) => {
      chargeCall(facts.seller, "verify");
      return measure(
        startVerify(facts),
        request,
        verify(request, facts),
        ({ invalidReason = "valid" }) => invalidReason,
      );
    },
    settle: async (request, facts) => {
      chargeCall(facts.seller, "settle");
      const end = metrics.startSettle();
      return measure(end, request, settle(request, facts), ({ errorReason = "settled" }) => errorReason);
    },
    supported: listSupported(options),
  };
}

/**
 * Creates a function that lists the supported kinds, or why there are none; returns the same object until that changes.
 */
function listSupported({ networks, schemes }: OperationsOptions): Operations["supported"] {
  const signers = { "eip155:*": [...new Set(networks.flatMap((network) => network.signers))] };
  const each = networks.map((network) => listNetwork(network, schemes));
  const join = rememberLast((...listedNetworks: readonly ReturnType<(typeof each)[number]>[]) => {
    const error = describeProblems(listedNetworks);
    return {
      kinds: listedNetworks.flatMap(({ kinds }) => kinds),
      ...(error === undefined ? {} : { error }),
      extensions: [...new Set(listedNetworks.flatMap(({ extensions }) => extensions))],
      signers,
      assets: listedNetworks.flatMap(({ assets }) => assets),
    };
  });
  return () => join(...each.map((list) => list()));
}

function listNetwork(
  { network, signers, problem: findProblem, shortage, decimals, contracts }: SettledNetwork,
  schemes: readonly SettlingScheme[],
) {
  const list = rememberLast(
    (problem: string | undefined, signer: Hex, digits: TokenDecimals, counts: ReadonlySet<string> = new Set()) => {
      const kinds = schemes.flatMap(({ scheme, settling }) =>
        settling.kinds({ contracts: counts, signer }).map((extra) => buildKind(scheme.name, network, extra)),
      );
      const assets = [...digits].map(([address, each]) => ({ network, address, decimals: each }));
      const extensions = counts.has(permit2Address.toLowerCase()) ? [sponsoringExtension] : [];
      return { network, problem, kinds: problem === undefined ? kinds : [], extensions, assets };
    },
  );
  return () => {
    // An `upto` payment names one account, so offer one that can settle.
    const signer = signers.find((account) => shortage(account) === undefined) ?? signers[0];
    return list(findProblem(), signer, decimals(), contracts());
  };
}

/** Joins the networks' problems, each with its network if there are several; undefined if there are none. */
export function describeProblems(
  networks: readonly Readonly<{ network: string; problem: string | undefined }>[],
): string | undefined {
  const failingNetworks = networks.filter(({ problem }) => problem !== undefined);
  if (failingNetworks.length === 0) return undefined;
  return failingNetworks
    .map(({ network, problem }) => (networks.length === 1 ? problem : `${network}: ${problem}`))
    .join("; ");
}

function buildKind(scheme: string, network: SettledNetwork["network"], extra: Readonly<Record<string, unknown>>) {
  const kind = { x402Version: 2, scheme, network };
  return Object.keys(extra).length === 0 ? kind : { ...kind, extra: { ...extra } };
}

function readCaller(request: PaymentRequest, facts: CallerInfo): Caller {
  const queueEntry = { caller: countCaller(facts), signal: facts.signal };
  return {
    ...identifyCaller(facts, getSentPayment(request), request.paymentRequirements),
    isKnown: facts.seller !== undefined || facts.address === undefined,
    request: facts.request,
    waiting: queueEntry,
  };
}

type SettlingScheme = Readonly<{ scheme: SettledScheme; settling: Settling }>;

/** A request's payment: as received, or already parsed by this process. */
export type PaymentRequest = Readonly<
  { paymentRequirements: unknown } & ({ paymentPayload: unknown } | { read: ReadPayment })
>;

export type ReadRequest = Readonly<
  { by: SettlingScheme; on: SettledNetwork; order: Order<unknown> } | { rejection: Rejection }
>;

/**
 * Parses the request. Checks version, scheme and network first, because other versions, schemes and networks have different fields.
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field.
 */
function readRequest(request: PaymentRequest, { networks, schemes }: OperationsOptions): ReadRequest {
  const sent = getSentPayment(request);
  const version = rejectVersion(sent);
  if (version !== undefined) return { rejection: version };
  const requirements = readRequirements(request.paymentRequirements, paths.requirements);
  const envelope =
    "read" in request ? { ...request.read, payload: request.read.sent.payload } : readEnvelope(sent, paths.payment);
  const by = schemes.find(({ scheme }) => scheme.name === requirements.scheme);
  if (by === undefined) return { rejection: rejectScheme(requirements, schemes) };
  const on = findNetwork(requirements, networks);
  if (on === undefined) return { rejection: rejectNetwork(requirements, networks) };
  const rejection = by.settling.rejectPayload(envelope.payload);
  if (rejection !== undefined) return { rejection };
  const isRead = "read" in request && request.read.scheme === by.scheme;
  const payment = isRead
    ? request.read.payment
    : readPayload(by.scheme, envelope, { path: paths.payment, audience: "seller" });
  // The SDK's schema admits null.
  const extensions = envelope.sent.extensions ?? {};
  return { by, on, order: { payment, requirements, accepted: envelope.accepted, extensions } };
}

function getSentPayment(request: PaymentRequest): unknown {
  return "read" in request ? request.read.sent : request.paymentPayload;
}

function rejectVersion(paymentPayload: unknown): Rejection | undefined {
  if (typeof paymentPayload !== "object" || paymentPayload === null || !("x402Version" in paymentPayload))
    return undefined;
  const { x402Version } = paymentPayload;
  if (typeof x402Version !== "number" || x402Version === 2) return undefined;
  return {
    reason: reason.version,
    message: `x402 version ${x402Version} is not supported; send a version 2 payment.`,
  };
}

function rejectScheme({ scheme }: PaymentRequirements, schemes: readonly SettlingScheme[]): Rejection {
  const knownSchemes = schemes.map((settling) => `"${settling.scheme.name}"`).join(" or ");
  return { reason: reason.scheme, message: `scheme "${scheme}" is not supported; use ${knownSchemes}.` };
}

function rejectNetwork({ network: required }: PaymentRequirements, networks: OperationsOptions["networks"]): Rejection {
  const servedNetworks = networks.map(({ network }) => `"${network}"`).join(" or ");
  return { reason: reason.network, message: `network "${required}" is not supported; use ${servedNetworks}.` };
}
