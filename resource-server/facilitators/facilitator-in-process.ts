import type { Registry } from "prom-client";
import { createFacilitator, type Facilitator, type FacilitatorOptions } from "#facilitator/facilitator.ts";
import type { Logger } from "#daemon/log.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Secret } from "#daemon/secret.ts";
import { FacilitationError, type Facilitation } from "./facilitation.ts";
import { onceFit } from "./once-fit.ts";
import type { ResourceServerSettings } from "../settings.ts";

/** What settling in this process needs above what selling does. */
export type InProcessOptions = ResourceServerSettings["settlement"] & Readonly<{ privateKey: Secret; rpcUrl: string }>;

/** What a facilitator in this process works with. */
export type InProcessDependencies = Readonly<{
  log: Logger;
  metrics: Registry;
  clock: () => number;
  signal: AbortSignal;
}>;

/** Decimals of the chain's native currency (specification, "Facilitator payloads"). */
const nativeDecimals = 18;

/** How long ended settlements are kept; much longer than an authorization may be valid. */
const ledgerRetentionDays = 90;

/** How settlements are driven; the facilitator service has the same as settings, with these defaults. */
const settlementDefaults: FacilitatorOptions["settlement"] = {
  receiptTimeoutMs: 45_000,
  drainMs: 1_000,
  pollIntervalMs: 100,
  confirmations: 1,
  gasLimit: 200_000,
  maxFeePerGasGwei: 500,
  bumpAfterMs: 15_000,
  bumpPercent: 25,
  inFlightMax: 1_000,
  batchMax: 64,
};

/** Verifies and settles in this process (specification, "States and transitions": "verifies locally"). */
export async function facilitatorInProcess(
  { privateKey, rpcUrl, rpcTimeoutMs, ledgerPath }: InProcessOptions,
  { chain, token, ledger: claims }: Pick<ResourceServerSettings, "chain" | "token" | "ledger">,
  dependencies: InProcessDependencies,
): Promise<Facilitation> {
  const facilitator = await createFacilitator(
    {
      chain: { id: chain.id, rpcUrl, webSocketUrl: undefined, rpcTimeoutMs, nativeDecimals },
      signer: { privateKey },
      assets: [token],
      payees: [],
      // Replicas that share their claims share their settlements as well: they settle with one signer.
      ledger: {
        ...claims,
        path: claims.url === undefined ? ledgerPath : undefined,
        retentionDays: ledgerRetentionDays,
      },
      settlement: settlementDefaults,
    },
    dependencies,
  );
  const followed = onceFit();
  const readiness = () => followed(wholeCheck(facilitator));
  // Whoever asks first may do so when the node it was started with is down already.
  readiness();
  return {
    verify: (payload, requirements) => judged(facilitator.verify(payload, requirements, {})),
    settle: (payload, requirements, idempotencyKey) =>
      judged(facilitator.settle(payload, requirements, { idempotencyKey })),
    readiness,
    [Symbol.asyncDispose]: () => facilitator[Symbol.asyncDispose](),
  };
}

function wholeCheck(facilitator: Pick<Facilitator, "readiness">): ReadinessCheck {
  const { ready, checks } = facilitator.readiness();
  const problems = Object.values(checks).filter((check) => !check.ok);
  return { ok: ready, message: ready ? "in this process" : problems.map(({ message }) => message).join("; ") };
}

async function judged<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    const malformed = cause instanceof Error && cause.name === "MalformedPaymentError";
    const code = malformed ? "refused" : "failed";
    throw new FacilitationError(code, cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
