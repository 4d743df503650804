import type { PaymentRequirements } from "@x402/core/types";
import type { Registry } from "prom-client";
import {
  createFacilitator,
  facilitatorDefaults,
  type Facilitator,
  type FacilitatorOptions,
} from "#facilitator/facilitator.ts";
import type { AuditLog } from "#daemon/audit/audit-log.ts";
import { rememberLast } from "#daemon/memoize.ts";
import { systemClock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Secret } from "#daemon/secrets/secret.ts";
import type { ServiceContext } from "#daemon/service.ts";
import { computeResponseTimeMs } from "../drain-time.ts";
import type { HttpClient } from "#daemon/http/http-client.ts";
import { FacilitationError, type Facilitation, type PresentedPayment } from "./facilitation.ts";
import { tolerateLaterFailures } from "./facilitator-watch.ts";
import { explainDecimals } from "./terms-check.ts";
import type { ResourceServerSettings } from "../settings.ts";

/** The process's dependencies of its facilitation, over HTTP or in the process. */
export type FacilitationDependencies = Readonly<{
  client: HttpClient;
  log: Logger;
  audit: AuditLog;
  metrics: Registry;
  clock: () => number;
  signal: AbortSignal;
}> &
  Pick<ServiceContext, "isHandedOver" | "yields">;

/** The keys and the node URL from the settings, both required here, and the tokens in which the routes are priced. */
export type InProcessOptions = ResourceServerSettings &
  Readonly<{
    keys: readonly Secret[];
    rpcUrl: string;
    offers: readonly PaymentRequirements[];
  }>;

/**
 * Derives the settlement settings: the facilitator's defaults, except that callers waiting at shutdown get a response within the remaining
 * shutdown time. A separate facilitator stops immediately, this process's facilitator only after most of `shutdown.graceMs`.
 */
export function planSettlementWithin(graceMs: number): FacilitatorOptions["settlement"] {
  const { settlement } = facilitatorDefaults;
  return { ...settlement, drainMs: Math.min(settlement.drainMs, computeResponseTimeMs(graceMs)) };
}

/** Creates a facilitator that verifies and settles in this process (specification, "States and transitions": "verifies locally"). */
export async function createFacilitatorInProcess(
  { chain, token, ledger: claims, shutdown, settlement, keys, rpcUrl, ...sold }: InProcessOptions,
  dependencies: FacilitationDependencies,
): Promise<Facilitation> {
  const { rpcTimeoutMs, ledgerPath, networks } = settlement;
  const defaultToken = { network: `eip155:${chain.id}`, asset: token.address, extra: token } as const;
  const offers = [defaultToken, ...sold.offers];
  const furtherNetworks = networks.map((each) => ({ chain: each, assets: listAssets(`eip155:${each.id}`, offers) }));
  const facilitator = await createFacilitator(
    {
      chain: { ...facilitatorDefaults.chain, id: chain.id, rpcUrl, rpcTimeoutMs },
      signer: { privateKey: keys },
      assets: listAssets(defaultToken.network, offers),
      networks: furtherNetworks.filter(({ assets }) => assets.length > 0),
      payees: [],
      // Replicas that share their claims also share their settlements, because they settle with the same signers.
      ledger: {
        ...claims,
        path: claims.url === undefined ? ledgerPath : undefined,
        retentionDays: facilitatorDefaults.ledger.retentionDays,
        compareIntervalMs: facilitatorDefaults.ledger.compareIntervalMs,
      },
      settlement: planSettlementWithin(shutdown.graceMs),
    },
    { ...dependencies, monotonicMs: systemClock.monotonicMs },
  );
  dependencies.yields(facilitator.yieldTerm);
  const trackFailures = tolerateLaterFailures();
  const explainDefaultDecimals = rememberLast((supportedKinds: ReturnType<Facilitator["supported"]>) =>
    explainDecimals(supportedKinds, [{ ...defaultToken, extra: {} }]),
  );
  const readiness = () => {
    const fault = explainDefaultDecimals(facilitator.supported());
    return trackFailures(fault === undefined ? deriveReadiness(facilitator) : { ok: false, message: fault });
  };
  // The node may already be down by the time of the first request.
  readiness();
  return {
    ...callInProcess(facilitator),
    readiness,
    supported: facilitator.supported,
    isSettlingPaused: () => {
      const supportedKinds = facilitator.supported();
      return supportedKinds.kinds.length === 0 || explainDefaultDecimals(supportedKinds) !== undefined;
    },
    [Symbol.asyncDispose]: () => facilitator[Symbol.asyncDispose](),
  };
}

function listAssets(
  network: string,
  offers: readonly Pick<PaymentRequirements, "network" | "asset" | "extra">[],
): FacilitatorOptions["assets"] {
  const all = offers
    .filter((offer) => offer.network === network)
    .map(({ asset, extra }) => {
      const [address, name, version] = [asset, extra["name"], extra["version"]].map(String);
      return { address, name, version } as FacilitatorOptions["assets"][number];
    });
  const byAddress = all.map((asset) => [asset.address.toLowerCase(), asset] as const);
  return [...new Map(byAddress.toReversed()).values()].toReversed();
}

/** Calls an in-process facilitator, which need not parse payments that this process has already parsed. */
export function callInProcess({
  verify,
  settle,
}: Pick<Facilitator, "verify" | "settle">): Pick<Facilitation, "verify" | "settle"> {
  return {
    verify: (payment, requirements, request) => waitForVerdict(verify(toRequest(payment, requirements), { request })),
    settle: (payment, requirements, idempotencyKey, request) =>
      waitForVerdict(settle(toRequest(payment, requirements), { idempotencyKey, request })),
  };
}

function toRequest(payment: PresentedPayment, paymentRequirements: PaymentRequirements) {
  return "scheme" in payment
    ? { read: payment, paymentRequirements }
    : { paymentPayload: payment.sent, paymentRequirements };
}

function deriveReadiness(facilitator: Pick<Facilitator, "readiness">): ReadinessCheck {
  const { ready, checks } = facilitator.readiness();
  const problems = Object.values(checks).filter((check) => !check.ok);
  return { ok: ready, message: ready ? "in this process" : problems.map(({ message }) => message).join("; ") };
}

async function waitForVerdict<T>(verdict: Promise<T>): Promise<T> {
  try {
    return await verdict;
  } catch (cause) {
    const isMalformed = cause instanceof Error && cause.name === "MalformedPaymentError";
    const code = isMalformed ? "rejected" : "failed";
    throw new FacilitationError(code, cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
