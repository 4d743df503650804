import type { Hex } from "viem";
import type { Logger } from "#daemon/log/log.ts";
import { AnvilRequestError, type AnvilClient } from "./anvil-request.ts";
import type { ChainStore, JournalEntry } from "./chain-store.ts";
import { findProposer } from "./validators.ts";

/** A block as the chain returns it (quantities are hexadecimal strings). */
export type ChainBlock = Readonly<{
  number: Hex;
  hash: Hex;
  timestamp: Hex;
  transactions: readonly unknown[];
  [field: string]: unknown;
}>;

/** Serialized writes to the chain; each is in the journal before its effect is visible. */
export type Chain = Readonly<{
  sendRawTransaction(raw: Hex): Promise<Hex>;
  /** Mines a block now, with timestamp `nowMs` or its parent's, whichever is later. */
  mine(nowMs: number): Promise<ChainBlock>;
  checkpoint(): Promise<void>;
  /** Saves the whole state if enough changed since the last save. */
  checkpointIfDue(nowMs: number): Promise<void>;
}>;

/** A chain without a store lives as long as its process. */
export type ChainParts = Readonly<{ client: AnvilClient; store: ChainStore | undefined; log: Logger }>;

/** Max blocks to replay at a start. */
const replayedBlocksMax = 256;

/** Inverse of the max share of time spent saving: 20 means 1/20. */
const savingShare = 20;

/** Loads the store's chain into a running, empty anvil, or starts a new one. */
export async function openChain(parts: ChainParts): Promise<Chain> {
  const { client, store, log } = parts;
  const snapshot = store?.snapshot();
  if (snapshot === undefined) await save(parts);
  else await client.request("anvil_loadState", [`0x${Buffer.from(snapshot).toString("hex")}`]);
  await applyJournal(store?.journal() ?? [], client, log);
  return createChain(parts);
}

function createChain(parts: ChainParts): Chain {
  const { client, store } = parts;
  const runInOrder = createSerial();
  let unsavedBlocks = 0;
  let unsavedTransactions = 0;
  let nextSaveMs = 0;
  const checkpoint = async () => {
    await save(parts);
    unsavedBlocks = 0;
    unsavedTransactions = 0;
  };
  return {
    sendRawTransaction: (raw) =>
      runInOrder(async () => {
        const hash = await client.request<Hex>("eth_sendRawTransaction", [raw]);
        store?.addTransaction(raw, hash);
        return hash;
      }),
    mine: (nowMs) =>
      runInOrder(async () => {
        const parent = await client.request<ChainBlock>("eth_getBlockByNumber", ["latest", false]);
        const timestampSeconds = Math.max(Number(parent.timestamp), Math.floor(nowMs / 1_000));
        store?.addBlock(timestampSeconds);
        const block = await mineBlock(client, Number(parent.number) + 1, timestampSeconds);
        unsavedBlocks += 1;
        unsavedTransactions += block.transactions.length;
        return block;
      }),
    checkpoint: () => runInOrder(checkpoint),
    checkpointIfDue: async (nowMs) => {
      if (unsavedTransactions === 0 && unsavedBlocks < replayedBlocksMax) return;
      if (nowMs < nextSaveMs) return;
      const start = performance.now();
      await runInOrder(checkpoint);
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

/** Saves only the latest state, without those of past blocks, because anvil stores every state in full. */
async function save({ client, store }: ChainParts): Promise<void> {
  if (store === undefined) return;
  const dump = await client.request<Hex>("anvil_dumpState", [false]);
  store.saveSnapshot(Buffer.from(dump.slice(2), "hex"), await listWaitingTransactions(client));
}

type Pool = Readonly<Record<"pending" | "queued", Record<string, Record<string, { hash: Hex }>>>>;

async function listWaitingTransactions(client: AnvilClient): Promise<ReadonlySet<Hex>> {
  const { pending, queued } = await client.request<Pool>("txpool_content");
  const senders = [...Object.values(pending), ...Object.values(queued)];
  return new Set(senders.flatMap((byNonce) => Object.values(byNonce).map(({ hash }) => hash)));
}

async function applyJournal(journal: readonly JournalEntry[], client: AnvilClient, log: Logger): Promise<void> {
  if (journal.length === 0) return;
  const head = await client.request<ChainBlock>("eth_getBlockByNumber", ["latest", false]);
  // Anvil's clock starts when anvil starts, and anvil rejects a block with an earlier time.
  await client.request("evm_setTime", [Number(head.timestamp)]);
  let number = Number(head.number);
  for (const entry of journal) {
    if (entry.kind === "block") await mineBlock(client, (number += 1), entry.timestampSeconds);
    else await resend(entry.raw, entry.hash, client, log);
  }
  const blocks = journal.filter((entry) => entry.kind === "block").length;
  log.info({ blocks, transactions: journal.length - blocks }, "replayed the journal since the last saved state");
}

/** Resends a transaction. A transaction that the chain no longer accepts (e.g. replaced by another with the same nonce) must not stop the node. */
async function resend(raw: Hex, hash: Hex, client: AnvilClient, log: Logger): Promise<void> {
  try {
    await client.request("eth_sendRawTransaction", [raw]);
  } catch (error) {
    if (!(error instanceof AnvilRequestError)) throw error;
    log.warn({ event: "transaction-dropped", hash, reason: error.message }, "a pending transaction was dropped");
  }
}

/** Creates a function that runs tasks one at a time, in submission order. */
function createSerial(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
