import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { StoreError } from "./store.ts";

export type CommitGroupsDependencies = Readonly<{
  database: Pick<DatabaseSync, "exec" | "isTransaction">;
  flush: () => Promise<void>;
  /** Throws a `StoreError` if the database's file is no longer where the next start looks for it. */
  requireFile?: () => void;
  /** Runs a statement, and converts its error to one that a store throws. */
  runQuery: <T>(work: () => T) => T;
  nextTurn?: () => Promise<void>;
}>;

type Waiter = Readonly<{ resolve: () => void; reject: (error: unknown) => void }>;
/** `run` executes the writer's statements. `resolve` is called when their commit is on disk; with `isUnsynced`, when it is visible. */
type Writer = Readonly<{
  run: () => unknown;
  resolve: (result: unknown) => void;
  reject: Waiter["reject"];
  isUnsynced: boolean;
}>;

/**
 * Commits the writers of one connection in groups. The writers that arrive while a group is being flushed to disk form the next group,
 * which shares a transaction and a flush; a flush blocks nothing else. After a failed flush, the system may have dropped what it could not
 * write, and a later flush can succeed without revealing this (fsync(2)). Therefore all calls then throw a `StoreError` until a restart,
 * which recovers what is on disk.
 */
export class CommitGroups {
  readonly #dependencies: Required<CommitGroupsDependencies>;
  #writers: Writer[] = [];
  #waiters: Waiter[] = [];
  #isRunning = false;
  #open: Promise<readonly Waiter[]> | undefined;
  #commits = 0;
  #flushedCommits = 0;
  #broken: StoreError | undefined;

  constructor(dependencies: CommitGroupsDependencies) {
    this.#dependencies = { nextTurn: setImmediate, requireFile: () => undefined, ...dependencies };
  }

  /** Runs a statement in the next group; resolves once its commit is on disk, or with `isUnsynced` once it is visible. */
  write<T>(statement: () => T, { isUnsynced = false }: Readonly<{ isUnsynced?: boolean }> = {}): Promise<T> {
    return this.#add(statement, isUnsynced);
  }

  /** Runs several statements in the next group, like {@link write}. A failure undoes all of them, but none of another writer's. */
  transaction<T>(work: () => Promise<T>): Promise<T> {
    return this.#add(async () => {
      this.#execute("SAVEPOINT writer");
      try {
        const result = await work();
        this.#execute("RELEASE writer");
        return result;
      } catch (error) {
        if (this.#dependencies.database.isTransaction) this.#execute("ROLLBACK TO writer; RELEASE writer");
        throw error;
      }
    }, false);
  }

  /** Runs a query outside of groups, so that it never sees a partial group. */
  async read<T>(work: () => T): Promise<T> {
    while (this.#open !== undefined) await this.#open;
    this.#requireWhole();
    return work();
  }

  /** Resolves once everything written so far is on disk. */
  flushed(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#flushedCommits === this.#commits && !this.#isRunning) return void resolve();
      this.#waiters.push({ resolve, reject });
      void this.#runGroups();
    });
  }

  #add<T>(run: () => T | Promise<T>, isUnsynced: boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#writers.push({ run, resolve: resolve as Writer["resolve"], reject, isUnsynced });
      void this.#runGroups();
    });
  }

  async #runGroups(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#writers.length + this.#waiters.length > 0) {
      // Writers in the same tick of the event loop share a group.
      await this.#dependencies.nextTurn();
      const [writers, waiters] = [this.#writers, this.#waiters];
      [this.#writers, this.#waiters] = [[], []];
      if (writers.length > 0) this.#open = this.#commit(writers);
      const committedWaiters = (await this.#open) ?? [];
      this.#open = undefined;
      if (committedWaiters.length + waiters.length > 0) await this.#flush([...committedWaiters, ...waiters]);
    }
    this.#isRunning = false;
  }

  async #commit(writers: readonly Writer[]): Promise<readonly Waiter[]> {
    const { database } = this.#dependencies;
    try {
      this.#requireWhole();
      this.#dependencies.requireFile();
      this.#execute("BEGIN IMMEDIATE");
      const [syncedWaiters, unsyncedWaiters]: [Waiter[], Waiter[]] = [[], []];
      for (const { run, resolve, reject, isUnsynced } of writers) {
        const waiters = isUnsynced ? unsyncedWaiters : syncedWaiters;
        try {
          const ran = run();
          // A single statement has already run.
          const result = ran instanceof Promise ? ((await ran) as unknown) : ran;
          waiters.push({ resolve: () => resolve(result), reject });
        } catch (error) {
          // Some failures, such as a full disk, have rolled back the whole group.
          if (!database.isTransaction) throw error;
          waiters.push({ resolve: () => reject(error), reject });
        }
      }
      this.#execute("COMMIT");
      this.#commits += 1;
      for (const { resolve } of unsyncedWaiters) resolve();
      return syncedWaiters;
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      for (const { reject } of writers) reject(error);
      return [];
    }
  }

  async #flush(waiters: readonly Waiter[]): Promise<void> {
    const commits = this.#commits;
    try {
      this.#requireWhole();
      if (this.#flushedCommits < commits) await this.#dependencies.flush();
      this.#flushedCommits = commits;
      for (const { resolve } of waiters) resolve();
    } catch (cause) {
      const message = "the ledger file could not be flushed to disk; check the disk, then restart";
      this.#broken ??= new StoreError(message, { cause });
      for (const { reject } of waiters) reject(this.#broken);
    }
  }

  #requireWhole(): void {
    if (this.#broken !== undefined) throw this.#broken;
  }

  #execute(statement: string): void {
    this.#dependencies.runQuery(() => this.#dependencies.database.exec(statement));
  }
}
