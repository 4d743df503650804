import type { Hex } from "viem";
import type { Logger } from "#daemon/log/log.ts";
import { AnvilRequestError, type AnvilClient } from "./anvil-request.ts";
import { dumpSnapshot, loadSnapshot } from "./chain-snapshot.ts";
import type { ChainStore, JournalEntry } from "./chain-store.ts";
import { findProposer } from "./validators.ts";

/** A block as the chain answers it (quantities are hexadecimal strings). */
export type ChainBlock = Readonly<{
  number: Hex;
  hash: Hex;
  timestamp: Hex;
  transactions: readonly unknown[];
  [field: string]: unknown;
}>;

/** The writes to the chain, one after the other, each in the journal before anyone can see its effect. */
export type Chain = Readonly<{
  /** Hands a signed transaction to the pool. */
  sendRawTransaction(raw: Hex): Promise<Hex>;
  /** Makes a block now, at `nowMs` or at its parent's time, whichever is later. */
  mine(nowMs: number): Promise<ChainBlock>;
  /** Saves the whole state. */
  checkpoint(): Promise<void>;
  /** Saves the whole state if enough happened since it was last saved. */
  checkpointIfDue(nowMs: number): Promise<void>;
}>;

/** A chain without a store lives as long as its process. */
export type ChainParts = Readonly<{ client: AnvilClient; store: ChainStore | undefined; log: Logger }>;

const writesWaitingMax = 10_000;

/** Blocks that a start may have to make again. */
const replayedBlocksMax = 256;

/**
 * Blocks that anvil may have made since its start for the states of past blocks to be saved, too. It keeps the hashes of all
 * these blocks with each state: after 10,000 of them saving took 5 s and answered with 107 MB (measured), and a text of 512 MB
 * is more than can be read at all.
 */
const statesSavedBlocksMax = 5_000;

/** Saving may take one part in this many of the time. */
const savingShare = 20;

/** Loads the store's chain into a running, empty anvil, or begins a new one. */
export async function openChain(parts: ChainParts): Promise<Chain> {
  const { client, store, log } = parts;
  const snapshot = store?.snapshot();
  if (snapshot === undefined) {
    await save(parts, true);
  } else {
    await loadSnapshot(client, snapshot);
  }
  const replayedBlocks = await applyJournal(store?.journal() ?? [], client, log);
  return createChain(parts, replayedBlocks);
}

function createChain(parts: ChainParts, replayedBlocks: number): Chain {
  const { client, store } = parts;
  const writes = createSerial({ waitingMax: writesWaitingMax });
  let blocksMade = replayedBlocks;
  let unsavedBlocks = 0;
  let unsavedTransactions = 0;
  let nextSaveMs = 0;
  const checkpoint = async () => {
    await save(parts, blocksMade <= statesSavedBlocksMax);
    unsavedBlocks = 0;
    unsavedTransactions = 0;
  };
  return {
    sendRawTransaction: (raw) =>
      writes.run(async () => {
        const hash = await client.request<Hex>("eth_sendRawTransaction", [raw]);
        store?.addTransaction(raw, hash);
        return hash;
      }),
    mine: (nowMs) =>
      writes.run(async () => {
        const parent = await client.request<ChainBlock>("eth_getBlockByNumber", ["latest", false]);
        const timestampSeconds = Math.max(Number(parent.timestamp), Math.floor(nowMs / 1_000));
        store?.addBlock(timestampSeconds);
        const block = await mineBlock(client, Number(parent.number) + 1, timestampSeconds);
        blocksMade += 1;
        unsavedBlocks += 1;
        unsavedTransactions += block.transactions.length;
        return block;
      }),
    checkpoint: () => writes.run(checkpoint),
    checkpointIfDue: async (nowMs) => {
      if (unsavedTransactions === 0 && unsavedBlocks < replayedBlocksMax) return;
      if (nowMs < nextSaveMs) return;
      const start = performance.now();
      await writes.run(checkpoint);
      nextSaveMs = nowMs + savingShare * (performance.now() - start);
    },
  };
}

async function mineBlock(client: AnvilClient, number: number, timestampSeconds: number): Promise<ChainBlock> {
  await client.request("anvil_setCoinbase", [findProposer(number)]);
  await client.request("evm_setNextBlockTimestamp", [timestampSeconds]);
  await client.request("evm_mine", []);
  return client.request<ChainBlock>("eth_getBlockByNumber", [`0x${number.toString(16)}`, false]);
}

async function save({ client, store }: ChainParts, withStates: boolean): Promise<void> {
  if (store === undefined) return;
  const snapshot = await dumpSnapshot(client, withStates);
  store.saveSnapshot(snapshot, await listWaitingTransactions(client));
}

type Pool = Readonly<Record<"pending" | "queued", Record<string, Record<string, { hash: Hex }>>>>;

async function listWaitingTransactions(client: AnvilClient): Promise<ReadonlySet<Hex>> {
  const { pending, queued } = await client.request<Pool>("txpool_content");
  const senders = [...Object.values(pending), ...Object.values(queued)];
  return new Set(senders.flatMap((byNonce) => Object.values(byNonce).map(({ hash }) => hash)));
}

/** Replays the journal; returns the number of blocks made. */
async function applyJournal(journal: readonly JournalEntry[], client: AnvilClient, log: Logger): Promise<number> {
  if (journal.length === 0) return 0;
  const head = await client.request<ChainBlock>("eth_getBlockByNumber", ["latest", false]);
  // Anvil's clock starts at its own start and refuses a block before that.
  await client.request("evm_setTime", [Number(head.timestamp)]);
  let number = Number(head.number);
  for (const entry of journal) {
    if (entry.kind === "block") await mineBlock(client, (number += 1), entry.timestampSeconds);
    else await sendAgain(entry.raw, entry.hash, client, log);
  }
  const blocks = journal.filter((entry) => entry.kind === "block").length;
  log.info({ blocks, transactions: journal.length - blocks }, "made again what came after the last saved state");
  return blocks;
}

/** Sends a transaction again. One that the chain no longer takes (replaced by another of the same nonce, say) must not stop the node. */
async function sendAgain(raw: Hex, hash: Hex, client: AnvilClient, log: Logger): Promise<void> {
  try {
    await client.request("eth_sendRawTransaction", [raw]);
  } catch (error) {
    if (!(error instanceof AnvilRequestError)) throw error;
    log.warn(
      { event: "transaction-dropped", hash, reason: error.message },
      "a transaction that waited for a block is dropped",
    );
  }
}

/** Runs pieces of work one after the other, in the order in which they were given. */
export type Serial = Readonly<{
  /** Runs `work` when everything before it is done; fails with what `work` fails with. */
  run<T>(work: () => Promise<T>): Promise<T>;
}>;

/** The queue already holds as much work as it may. */
export class SerialFullError extends Error {
  override readonly name = "SerialFullError";
  readonly code = "serial_full";
}

/** Creates an idle queue that holds at most `waitingMax` pieces of work. */
export function createSerial({ waitingMax }: Readonly<{ waitingMax: number }>): Serial {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    async run<T>(work: () => Promise<T>): Promise<T> {
      if (waiting >= waitingMax) throw new SerialFullError(`more than ${waitingMax} writes wait for the chain`);
      waiting += 1;
      const mine = last.then(work);
      last = mine.then(
        () => undefined,
        () => undefined,
      );
      try {
        return await mine;
      } finally {
        waiting -= 1;
      }
    },
  };
}
