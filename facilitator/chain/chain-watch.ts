import * as Value from "ox/Value";
import type { Logger } from "#daemon/log/log.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { pause as systemPause, poll, type Pause } from "#daemon/time.ts";
import type { Hex } from "#x402/hex.ts";
import type { Chain } from "./chain.ts";
import { ChainError } from "./chain-error.ts";
import type { FeeQuotes } from "./fees.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { canonicalContracts, findDeployedContracts } from "#x402/contracts.ts";
import type { AcceptedAsset } from "#x402/signed-payment.ts";
import { checkToken } from "./token-check.ts";

/** Expected identity of the chain, and the signer's required balance. */
export type ChainWatchOptions = ExpectedChain &
  Readonly<{
    nativeDecimals: number;
    signer: Hex;
    /** Max gas of one settlement. */
    gasLimit: number;
  }>;

/** Last known state of the chain; reading it never calls the node. */
export type ChainWatch = AsyncDisposable &
  Readonly<{
    checks: () => Readonly<Record<"chain" | "signer", ReadinessCheck>>;
    /** In the chain's native currency. */
    signerBalance: () => number | undefined;
    /** Returns why the signer can't pay for a settlement: account, balance and required amount. Undefined if it can, or if this is unknown. */
    shortage: () => string | undefined;
    /** Returns the signer's current max cost of one settlement, in the native currency's smallest unit; 0 until known. */
    settlementCost: () => bigint;
    /** Empty until the tokens are checked. */
    decimals: () => TokenDecimals;
    /** Canonical contracts that the chain has, by lowercase address; empty until the chain is checked. */
    contracts: () => ReadonlySet<string>;
  }>;

/** Decimals of the tokens, by address in the settings; undefined for a token without decimals. */
export type TokenDecimals = ReadonlyMap<Hex, number | undefined>;

const watchIntervalMs = 10_000;
const failedWatchIntervalMs = 500;

/** Number of settlements that a signer without gas is advised to fund. */
const advisedSettlements = 100n;

export type ChainWatchDependencies = Readonly<{
  chain: Chain;
  fees: FeeQuotes;
  clock: () => number;
  log: Logger;
  pause?: Pause;
}>;

/**
 * Monitors whether the node responds, is on the right chain, and whether the signer can pay for gas. A node that does not respond at
 * startup may do so later.
 *
 * @throws {StartupError} when the node responds but is on another chain, or is in sync and its tokens differ from the settings.
 */
export async function startChainWatch(
  options: ChainWatchOptions,
  { chain, fees, clock, log, pause = systemPause }: ChainWatchDependencies,
): Promise<ChainWatch> {
  const { signer, nativeDecimals, gasLimit } = options;
  const rpc = new URL(options.rpcUrl).origin;
  const stop = new AbortController();
  let contracts: FoundContracts | undefined;
  let problem: string | undefined = "the chain was not queried yet";
  let balance: bigint | undefined;
  let settlementCost = 0n;

  const shortage = (): string | undefined => {
    const { ok, message } = checkSigner(balance, settlementCost, options);
    return ok || balance === undefined ? undefined : message;
  };
  let isShort = false;
  const reportShortage = (found: string | undefined): void => {
    if (isShort === (found !== undefined)) return;
    isShort = found !== undefined;
    const where = { signer, network: `eip155:${options.chainId}` };
    if (found === undefined) log.info({ event: "signer-funded", ...where }, "the signer can pay for gas again");
    else log.warn({ event: "signer-unfunded", ...where, problem: found }, `no payment can be settled: ${found}`);
  };

  const look = async (): Promise<void> => {
    try {
      contracts ??= await checkChainIdentity(options, { chain, clock });
      const [held, { maxFeePerGas }] = await Promise.all([chain.balance(signer), fees.quote()]);
      balance = held;
      settlementCost = BigInt(gasLimit) * maxFeePerGas;
      problem = undefined;
      reportShortage(shortage());
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      if (problem !== error.message)
        log.warn({ event: "chain-unusable", problem: error.message, rpc }, "the chain can't be used; looking again");
      problem = error.message;
    }
  };

  const lookAgain = async (): Promise<void> => {
    try {
      await look();
    } catch (error) {
      problem = (error as Error).message;
      log.error({ event: "chain-unexpected", problem, rpc }, "the chain is not the one that the settings describe");
    }
  };
  const noteFailure = (error: unknown) => {
    problem = String(error);
  };

  await look();
  const intervalMs = () => (problem === undefined && !isShort ? watchIntervalMs : failedWatchIntervalMs);
  const polling = { name: "chain watch", failed: noteFailure, intervalMs, signal: stop.signal };
  const watching = pause(intervalMs(), stop.signal).then(() => poll(polling, lookAgain, { log, pause }));
  return {
    checks: () => ({
      chain: { ok: problem === undefined, message: problem ?? `chain ${options.chainId} answers` },
      signer: checkSigner(balance, settlementCost, options),
    }),
    settlementCost: () => settlementCost,
    shortage,
    decimals: () => contracts?.decimals ?? new Map(),
    contracts: () => contracts?.contracts ?? new Set(),
    signerBalance: () => (balance === undefined ? undefined : Number(Value.format(balance, nativeDecimals))),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await watching;
    },
  };
}

function checkSigner(
  balance: bigint | undefined,
  settlementCost: bigint,
  { signer, nativeDecimals, chainId }: ChainWatchOptions,
): ReadinessCheck {
  if (balance === undefined) return { ok: false, message: `the balance of ${signer} is not known yet` };
  const held = Value.format(balance, nativeDecimals);
  if (balance >= settlementCost) return { ok: true, message: `${signer} holds ${held} to pay for gas` };
  const wanted = Value.format(settlementCost, nativeDecimals);
  const enough = Value.format(settlementCost * advisedSettlements, nativeDecimals);
  return {
    ok: false,
    message: `${signer} holds ${held} to pay for gas, one settlement may cost ${wanted}; send it ${enough} for ${advisedSettlements} of them in the native currency of chain ${chainId}, on a testnet from its faucet`,
  };
}

/** Chain and tokens described in the settings. */
type ExpectedChain = Readonly<{ chainId: number; rpcUrl: string; assets: readonly AcceptedAsset[] }>;

/** Age of the newest block above which the node counts as behind its chain, and may get the tokens later. */
const headAgeMaxMs = 120_000;

/**
 * Checks that the node is on the configured chain and that its tokens match the settings. Returns their decimals.
 *
 * @throws {StartupError} when they don't match: no payment could be settled, and waiting would not help.
 * @throws {ChainError} when the node can't respond, or is behind its chain and does not have the tokens yet.
 */
async function checkChainIdentity(
  { chainId, rpcUrl, assets }: ExpectedChain,
  { chain, clock }: Readonly<{ chain: Chain; clock: () => number }>,
): Promise<FoundContracts> {
  const found = await chain.id();
  if (found !== chainId) {
    const where = new URL(rpcUrl).origin;
    throw new StartupError(
      `the node at ${where} is on chain ${found}, chain.id is ${chainId}; correct chain.rpcUrl or chain.id.`,
    );
  }
  try {
    const read = assets.map(async (asset) => [asset.address, await checkToken(asset, { chainId, chain })] as const);
    const [contracts, decimals] = await Promise.all([findContracts(chain), Promise.all(read)]);
    return { decimals: new Map(decimals), contracts };
  } catch (error) {
    const behind = error instanceof StartupError ? await describeBehind(chain, clock) : undefined;
    if (behind === undefined) throw error;
    const [problem = ""] = (error as StartupError).problems;
    throw new ChainError("bad_answer", `${behind}; until it has caught up, ${problem}`);
  }
}

/** Decimals of the tokens, and the canonical contracts that the chain has. */
type FoundContracts = Readonly<{ decimals: TokenDecimals; contracts: ReadonlySet<string> }>;

/** Finds the canonical contracts that payments need. */
async function findContracts(chain: Pick<Chain, "code">): Promise<ReadonlySet<string>> {
  const found = await findDeployedContracts(chain.code);
  return new Set([...found].map((id) => canonicalContracts[id].address.toLowerCase()));
}

/** Describes why the node's state is outdated, in the same words at each check; undefined if it is current. */
async function describeBehind(chain: Chain, clock: () => number): Promise<string | undefined> {
  if (await chain.syncing()) return "the node is syncing";
  const { timestamp } = await chain.head();
  const isOld = clock() - timestamp * 1_000 > headAgeMaxMs;
  return isOld ? `the node's newest block is more than ${headAgeMaxMs / 1_000} s old` : undefined;
}
