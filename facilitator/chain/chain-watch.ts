import type { Logger } from "#daemon/log/log.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { repeat, type Pause } from "#daemon/time.ts";
import type { Hex } from "#x402/hex.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { canonicalContracts, findDeployedContracts } from "#x402/contracts.ts";
import type { AcceptedAsset } from "#x402/signed-payment.ts";
import { decimalsMax } from "#x402/price.ts";
import { computeDomainSeparator } from "#x402/typed-data.ts";
import type { Chain } from "./chain.ts";
import { ChainError } from "./chain-error.ts";
import { createClockWatch } from "./clock-watch.ts";
import type { FeeQuotes } from "./fees.ts";
import type { SignerWatch } from "./signer-watch.ts";
import { decimalsCall, domainCall, domainSeparatorCall, labelCall, versionCall } from "./token.ts";

/** Decimals of the tokens, by address in the settings; undefined for a token without decimals. */
export type TokenDecimals = ReadonlyMap<Hex, number | undefined>;

const watchIntervalMs = 10_000;
const failedWatchIntervalMs = 500;
/** Age from which the last success is outdated: two and a half check intervals. */
const successAgeMaxMs = 2.5 * watchIntervalMs;

export type ChainWatchDependencies = Readonly<{
  chain: Chain;
  fees: FeeQuotes;
  signers: SignerWatch;
  clock: () => number;
  monotonicMs: () => number;
  /** Aborts when the process stops; an interrupted check implies nothing about the chain. */
  signal?: AbortSignal;
  log: Logger;
  pause?: Pause;
}>;

/**
 * Monitors whether the node responds, is on the right chain and agrees with this process's clock, and whether the signers can settle. A node that does not respond at
 * startup may do so later. The returned state is the last known one; reading it never calls the node.
 *
 * @throws {StartupError} when the node responds but is on another chain, or is in sync and its tokens differ from the settings.
 */
export async function startChainWatch(
  options: ExpectedChain,
  { chain, fees, signers, clock, monotonicMs, signal, log, pause }: ChainWatchDependencies,
) {
  const rpc = new URL(options.rpcUrl).origin;
  const checkClock = createClockWatch({ chain, clock, log });
  let contracts: FoundContracts | undefined;
  let problem: string | undefined = "the chain has not been queried yet";
  let succeededAtMs: number | undefined;

  const checkChain = async (): Promise<void> => {
    try {
      contracts ??= await checkChainIdentity(options, { chain, clock });
      const { maxFeePerGas } = await fees.quote();
      await signers.look(maxFeePerGas);
      [problem, succeededAtMs] = [await checkClock(), monotonicMs()];
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      if (signal?.aborted === true) return;
      if (problem !== error.message)
        log.warn({ event: "chain-unusable", problem: error.message, rpc }, "the chain is not available; retrying");
      problem = error.message;
    }
  };

  await checkChain();
  const intervalMs = () =>
    problem === undefined && signers.shortage() === undefined ? watchIntervalMs : failedWatchIntervalMs;
  const onFailure = (error: unknown): void => {
    problem = (error as Error).message;
    log.error({ event: "chain-unexpected", problem, rpc }, "the chain does not match the settings");
  };
  const repetition = repeat(checkChain, { intervalMs, failed: onFailure, waitsFirst: true }, { pause });
  signers.onShortage(repetition.wake);
  const expire = (check: ReadinessCheck) =>
    expireSuccess(check, succeededAtMs === undefined ? 0 : monotonicMs() - succeededAtMs);
  return {
    chainCheck: () => expire({ ok: problem === undefined, message: problem ?? `chain ${options.chainId} answers` }),
    signerCheck: () => expire(signers.check()),
    decimals: (): TokenDecimals => contracts?.decimals ?? unknownDecimals,
    /** The chain's canonical contracts and the wallet factories, by lowercase address; undefined until the chain has been checked. */
    contracts: (): ReadonlySet<string> | undefined => contracts?.contracts,
    [Symbol.asyncDispose]: () => repetition[Symbol.asyncDispose](),
  };
}

function expireSuccess({ ok, message }: ReadinessCheck, ageMs: number): ReadinessCheck {
  if (!ok || ageMs <= successAgeMaxMs) return { ok, message };
  return { ok: false, message: `the last successful check is ${Math.round(ageMs / 1_000)} s old: ${message}` };
}

type ExpectedChain = Readonly<{
  chainId: number;
  rpcUrl: string;
  assets: readonly AcceptedAsset[];
  /** Contracts allowed to create a payer's wallet. */
  walletFactories: readonly Hex[];
}>;

/** A node whose newest block is older counts as behind its chain, and may not have the tokens yet. */
const headAgeMaxMs = 120_000;

/**
 * Checks that the node is on the configured chain and that its tokens match the settings. Returns their decimals.
 *
 * @throws {StartupError} when they don't match: no payment could be settled, and waiting would not help.
 * @throws {ChainError} when the node does not respond, or is behind its chain and does not have the tokens yet.
 */
async function checkChainIdentity(
  { chainId, rpcUrl, assets, walletFactories }: ExpectedChain,
  { chain, clock }: Readonly<{ chain: Chain; clock: () => number }>,
): Promise<FoundContracts> {
  const foundId = await chain.id();
  if (foundId !== chainId) {
    const where = new URL(rpcUrl).origin;
    throw new StartupError(
      `the node at ${where} is on chain ${foundId}, chain.id is ${chainId}; correct chain.rpcUrl or chain.id.`,
    );
  }
  try {
    const readings = assets.map(
      async (asset) => [asset.address, await readTokenDecimals(asset, { chainId, chain })] as const,
    );
    const [contracts, decimals] = await Promise.all([findContracts(chain), Promise.all(readings)]);
    const factories = walletFactories.map((factory) => factory.toLowerCase());
    return { decimals: new Map(decimals), contracts: new Set([...contracts, ...factories]) };
  } catch (error) {
    const lagDescription = error instanceof StartupError ? await describeBehind(chain, clock) : undefined;
    if (lagDescription === undefined) throw error;
    const [problem = ""] = (error as StartupError).problems;
    throw new ChainError("bad_answer", `${lagDescription}; until it catches up, ${problem}`);
  }
}

const unknownDecimals: TokenDecimals = new Map();

type FoundContracts = Readonly<{ decimals: TokenDecimals; contracts: ReadonlySet<string> }>;

async function findContracts(chain: Pick<Chain, "code">): Promise<ReadonlySet<string>> {
  const code = await findDeployedContracts(chain.code);
  return new Set([...code].map((id) => canonicalContracts[id].address.toLowerCase()));
}

/** Describes why the node's state is outdated, with the same message at each check; undefined if it is current. */
async function describeBehind(chain: Chain, clock: () => number): Promise<string | undefined> {
  if (await chain.syncing()) return "the node is syncing";
  const { timestamp } = await chain.head();
  const isOld = clock() - timestamp * 1_000 > headAgeMaxMs;
  return isOld ? `the node's newest block is more than ${headAgeMaxMs / 1_000} s old` : undefined;
}

type TokenChain = Readonly<{ chainId: number; chain: Pick<Chain, "simulate"> }>;

/**
 * Checks that a token matches the settings and returns its decimals; undefined if it has none.
 *
 * @throws {StartupError} with the token's own EIP-712 domain when that differs.
 */
export async function readTokenDecimals(
  asset: AcceptedAsset,
  { chainId, chain }: TokenChain,
): Promise<number | undefined> {
  const { address, name, version, separator } = asset;
  const read = async (data: Hex) => {
    const response = await chain.simulate({ to: address, data });
    return response.ok ? (response.result as Hex) : undefined;
  };
  const foundSeparator = await read(domainSeparatorCall);
  if (foundSeparator === "0x")
    throw new StartupError(`there is no token at ${address} on chain ${chainId}; correct assets.`);
  // A token without DOMAIN_SEPARATOR() reverts, so only a payment verifies the name and version.
  if (foundSeparator === undefined || foundSeparator === separator) {
    const decimals = Number((await read(decimalsCall)) ?? Number.NaN);
    return decimals <= decimalsMax ? decimals : undefined;
  }
  const tokenDomain = (await readDomains(read)).find(
    (domain) => computeDomainSeparator({ address, chainId, ...domain }) === foundSeparator,
  );
  const correction =
    tokenDomain === undefined
      ? "correct assets"
      : `the token has name "${tokenDomain.name}", version "${tokenDomain.version}"; correct assets`;
  throw new StartupError(
    `the token at ${address} on chain ${chainId} does not have the EIP-712 domain name "${name}", version "${version}": ${correction}.`,
  );
}

type Domain = Readonly<{ name: string; version: string }>;

/** Reads a token's possible domains: from EIP-5267, else from name and version; old USDC has only a name. */
async function readDomains(read: (data: Hex) => Promise<Hex | undefined>): Promise<readonly Domain[]> {
  const { decode } = await import("ox/AbiParameters");
  const readText = async (call: Hex) => {
    const data = await read(call);
    return data === undefined || data === "0x" ? undefined : decode([{ type: "string" }], data)[0];
  };
  const said = await read(domainCall);
  if (said !== undefined && said !== "0x") {
    const [, name, version] = decode([{ type: "bytes1" }, { type: "string" }, { type: "string" }], said);
    return [{ name, version }];
  }
  const [name = "", version] = await Promise.all([readText(labelCall), readText(versionCall)]);
  return (version === undefined ? ["1", "2"] : [version]).map((each) => ({ name, version: each }));
}
