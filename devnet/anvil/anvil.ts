import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hex } from "viem";
import { createDirectory } from "#daemon/files/create-directory.ts";
import type { Logger } from "#daemon/log/log.ts";
import { repeat } from "#daemon/time.ts";
import { startAnvilProcess } from "./anvil-process.ts";
import { createAnvilClient } from "./anvil-request.ts";
import { openChainStore } from "./chain-store.ts";
import { openChain, type ChainBlock } from "./chain.ts";

export type AnvilOptions = Readonly<{
  chainId: number;
  /** Block interval; fractions allowed. */
  blockTimeSeconds: number;
  /** Directory that persists the chain across restarts; created if absent. If unset, the chain is lost when the process exits. */
  stateDirectory?: string | undefined;
}>;

export type AnvilDependencies = Readonly<{
  log: Logger;
  signal: AbortSignal;
  /** Milliseconds since the Unix epoch; the wall clock by default. */
  now?: () => number;
}>;

/** A running chain. Disposing of it saves the chain and stops the process. */
export type Anvil = AsyncDisposable &
  Readonly<{
    /** HTTP URL on a free loopback port. Writes sent there directly bypass the journal. */
    url: string;
    webSocketUrl: string;
    pid: number;
    /**
     * Calls the chain. Once `eth_sendRawTransaction` returns, the transaction survives a kill -9.
     *
     * @throws {AnvilRequestError} when the chain responds with a JSON-RPC error.
     * @throws {AnvilUnreachableError} when the chain does not respond.
     */
    request<T>(method: string, params?: readonly unknown[]): Promise<T>;
    mine(): Promise<ChainBlock>;
    /** Saves the whole state; needed after `anvil_*` methods, which change state without a transaction. */
    checkpoint(): Promise<void>;
    /** Calls `listener` after each block, in order; returns a function that removes it. */
    onBlock(listener: (block: ChainBlock) => void): () => void;
    /** Resolves with the cause if the process exits on its own; the chain is unusable afterwards. */
    ended: Promise<Error>;
  }>;

/** Even saving a long chain takes only seconds; a chain that takes this long is faulty. */
const requestTimeoutMs = 60_000;
/** A long chain dumps a few hundred bytes per block. */
const responseBytesMax = 268_435_456;
const connectionsMax = 32;

/**
 * Starts anvil, restores the chain from `stateDirectory`, and mines a block at once. A new chain has no funded account; anvil signs
 * nothing. After a kill -9 of this process or of anvil, every transaction acknowledged with a hash is in the pool again, or in the chain,
 * in a block with the same number, time and order of transactions. Blocks mined after the last saved state may have different hashes,
 * because anvil draws `mixHash` at random.
 *
 * @throws {StartupError} when anvil is not installed or does not start, or another node uses the directory.
 */
export async function startAnvil(options: AnvilOptions, dependencies: AnvilDependencies): Promise<Anvil> {
  const { log, now = Date.now } = dependencies;
  await using starting = new AsyncDisposableStack();
  const { directory, store } = openDirectory(options.stateDirectory, starting);
  const child = starting.use(await startAnvilProcess({ chainId: options.chainId, directory }, { log }));
  const client = starting.use(
    createAnvilClient({ url: child.url, requestTimeoutMs, responseBytesMax, connectionsMax }),
  );
  const chain = await openChain({ client, store, log });
  dependencies.signal.throwIfAborted();
  const listeners = new Set<(block: ChainBlock) => void>();
  const mine = async () => {
    const block = await chain.mine(now());
    for (const listener of listeners) listener(block);
    return block;
  };
  const produce = async () => {
    await mine();
    await chain.checkpointIfDue(now());
  };
  await client.request("anvil_setLoggingEnabled", [false]);
  await mine();
  let gone = false;
  void child.ended.then(() => (gone = true));
  starting.defer(async () => {
    if (!gone) await chain.checkpoint();
  });
  const blockTimeMs = options.blockTimeSeconds * 1_000;
  // Mines blocks at multiples of the block time, so that the chain's time never runs ahead: under load, blocks get fuller, not more frequent.
  const intervalMs = () => blockTimeMs - (now() % blockTimeMs);
  const failed = (err: unknown) =>
    log.error({ event: "block-not-made", err }, "no block was produced; retrying at the next block time");
  starting.use(repeat(produce, { intervalMs, failed, waitsFirst: true }));
  const resources = starting.move();
  return {
    url: child.url,
    webSocketUrl: child.url.replace("http:", "ws:"),
    pid: child.pid,
    ended: child.ended,
    mine,
    checkpoint: chain.checkpoint,
    // A transaction goes through the journal.
    request: <T>(method: string, params: readonly unknown[] = []) =>
      method === "eth_sendRawTransaction"
        ? (chain.sendRawTransaction(params[0] as Hex) as Promise<T>)
        : client.request<T>(method, params),
    onBlock: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function openDirectory(stateDirectory: string | undefined, resources: AsyncDisposableStack) {
  if (stateDirectory === undefined) {
    const directory = mkdtempSync(join(tmpdir(), "gatehouse-devnet-"));
    resources.defer(() => rmSync(directory, { recursive: true, force: true }));
    return { directory, store: undefined };
  }
  createDirectory(stateDirectory);
  return { directory: stateDirectory, store: resources.use(openChainStore(stateDirectory)) };
}
