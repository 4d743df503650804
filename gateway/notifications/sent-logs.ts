import { readObject } from "../json-rpc/read-object.ts";
import { readQuantity } from "./recent-blocks.ts";

const rememberedLogs = 10_000;
/** Max bytes of log entries remembered by all subscriptions that share a budget. */
const rememberedBytes = 33_554_432;

/** Bytes of log entries remembered by the subscriptions that share the budget. The subscription that exceeds the budget drops its own oldest entries. */
export type LogBudget = { spentBytes: number };

type SentLog = Readonly<{ number: bigint; json: string }>;

/** The newest log entries sent to the subscribers of one filter whose blocks are still canonical. */
export class SentLogs {
  readonly #budget: LogBudget;
  readonly #logs = new Map<string, SentLog>();
  #forgottenUpTo = -1n;

  constructor(budget: LogBudget) {
    this.#budget = budget;
  }

  note(json: string): void {
    const log = readLog(json);
    if (log === undefined) return;
    const previousLog = this.#logs.get(log.key);
    if (previousLog !== undefined) this.#forget(log.key, previousLog);
    if (log.isRemoved) return;
    this.#logs.set(log.key, { number: log.number, json });
    this.#budget.spentBytes += json.length;
    for (const [key, oldestLog] of this.#logs) {
      if (this.#logs.size <= rememberedLogs && this.#budget.spentBytes <= rememberedBytes) return;
      this.#forget(key, oldestLog);
      if (oldestLog.number > this.#forgottenUpTo) this.#forgottenUpTo = oldestLog.number;
    }
  }

  has(json: string): boolean {
    return this.#logs.has(readLog(json)?.key ?? "");
  }

  /** Returns the entries of blocks above this one, newest first, or undefined if some of these entries may have been dropped. */
  above(number: bigint): readonly string[] | undefined {
    if (this.#forgottenUpTo > number) return undefined;
    const laterLogs = [...this.#logs.values()].filter((log) => log.number > number);
    return laterLogs.map(({ json }) => json).toReversed();
  }

  clear(): void {
    for (const [key, log] of this.#logs) this.#forget(key, log);
  }

  #forget(key: string, log: SentLog): void {
    this.#logs.delete(key);
    this.#budget.spentBytes -= log.json.length;
  }
}

/** Formats a log entry in the form in which it is sent after a reorganization removed its block. */
export function formatRemovedLog(log: string): string {
  const removedLog = log.replace(/"removed"\s*:\s*false/, '"removed":true');
  return removedLog === log ? `${log.slice(0, log.lastIndexOf("}"))},"removed":true}` : removedLog;
}

export function isRemoved(log: string): boolean {
  return readLog(log)?.isRemoved ?? false;
}

function readLog(json: string) {
  const members = readObject(json);
  const number = readQuantity(members?.get("blockNumber"));
  const hash = members?.get("blockHash");
  const index = members?.get("logIndex");
  if (number === undefined || hash === undefined || index === undefined) return undefined;
  // Some chains number log entries per transaction, from 0, rather than per block.
  const transaction = members?.get("transactionHash") ?? "";
  return { key: `${hash} ${transaction} ${index}`, number, isRemoved: members?.get("removed") === "true" };
}
