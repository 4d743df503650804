import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SettleResponse, VerifyResponse } from "@x402/core/types";
import type { Address } from "viem";
import { facilitator } from "#facilitator/main.ts";
import { testAccount } from "../payments/payment-chain.ts";
import type { ConstantOverrides } from "../constant-overrides.ts";
import { startInProcess, type ServiceInProcess } from "../service-in-process.ts";
import { startService, type ServiceProcess } from "../service-process.ts";

type Headers = Readonly<Record<string, string>>;
type Answer<Body> = Readonly<{ status: number; body: Body & Readonly<{ error?: string }> }>;

export type RunningFacilitator = FacilitatorClient & Readonly<{ process: ServiceProcess }>;

export type FacilitatorInProcess = FacilitatorClient & Pick<ServiceInProcess, "output">;

export type FacilitatorClient = AsyncDisposable &
  Readonly<{
    url: string;
    operationsUrl: string;
    post: (path: string, body: string, headers?: Headers) => Promise<Answer<Record<string, unknown>>>;
    verify: (body: unknown) => Promise<Answer<VerifyResponse>>;
    settle: (body: unknown) => Promise<Answer<SettleResponse>>;
    /** Reads a metric of chain 1672 by its name without the prefix and its labels before `network`; NaN if absent. */
    metric: (name: string, labels?: string) => Promise<number>;
    as: (caller: string | Headers) => Pick<FacilitatorClient, "verify" | "settle">;
  }>;

/**
 * A facilitator's environment: the chain's node, the token, the ledger's file, and non-default settings and constants.
 */
export type FacilitatorLocation = Readonly<{
  rpcUrl: string;
  token: Address;
  ledgerPath: string;
  env?: Readonly<Record<string, string>>;
  constants?: ConstantOverrides;
}>;

export function buildFacilitatorEnvironment({
  rpcUrl,
  token,
  ledgerPath,
  env,
}: FacilitatorLocation): Record<string, string> {
  return {
    GATEHOUSE_FACILITATOR_LISTEN_PORT: "0",
    GATEHOUSE_FACILITATOR_OPERATIONS_PORT: "0",
    GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: rpcUrl,
    GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: testAccount(0).privateKey,
    GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([{ address: token, name: "USDC", version: "2" }]),
    GATEHOUSE_FACILITATOR_LEDGER_PATH: ledgerPath,
    GATEHOUSE_FACILITATOR_SETTLEMENT_POLL_INTERVAL_MS: "20",
    ...env,
  };
}

export async function startFacilitator(place: FacilitatorLocation): Promise<RunningFacilitator> {
  const process = await startService("facilitator", buildFacilitatorEnvironment(place), { constants: place.constants });
  return { ...connect(process), process };
}

/** Starts a facilitator in this process. */
export async function startFacilitatorInProcess(place: FacilitatorLocation): Promise<FacilitatorInProcess> {
  const startedProcess = await startInProcess(facilitator, buildFacilitatorEnvironment(place), place.constants);
  return { ...connect(startedProcess), output: startedProcess.output };
}

function connect(service: Pick<ServiceInProcess, "urls" | typeof Symbol.asyncDispose>): FacilitatorClient {
  const url = service.urls["facilitator"] ?? "";
  const operationsUrl = service.urls["facilitator-operations"] ?? "";
  const post: FacilitatorClient["post"] = async (path, body, headers = {}) => {
    const sent = { "Content-Type": "application/json", ...headers };
    const response = await fetch(url + path, { method: "POST", headers: sent, body });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const as: FacilitatorClient["as"] = (caller) => {
    const headers = typeof caller === "string" ? { "Idempotency-Key": caller } : caller;
    const ask = async (path: string, body: unknown) => post(path, JSON.stringify(body), headers);
    return {
      verify: async (body) => (await ask("/verify", body)) as unknown as Answer<VerifyResponse>,
      settle: async (body) => (await ask("/settle", body)) as unknown as Answer<SettleResponse>,
    };
  };
  return {
    url,
    operationsUrl,
    post,
    ...as({}),
    as,
    metric: async (name, labels = "") => {
      const text = await (await fetch(`${operationsUrl}/metrics`)).text();
      const line = new RegExp(`^gatehouse_facilitator_${name}\\{${labels}network="eip155:1672"\\} (.*)$`, "m");
      return Number(line.exec(text)?.[1]);
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

export async function createLedgerFolder(): Promise<AsyncDisposable & Readonly<{ path: (name: string) => string }>> {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-facilitator-"));
  return {
    path: (name) => join(folder, `${name}.sqlite`),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
