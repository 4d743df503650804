import { join } from "node:path";
import { openSqlite } from "#daemon/sql/sqlite.ts";
import type { DiskHistory } from "#health/disk-forecast.ts";
import type { NodeValues } from "#node/conf/node-values.ts";
import type { DataEvidence } from "./data-evidence.ts";
import type { NodeIdentity } from "./node-identity.ts";
import { createStateStore, type StateStore } from "./state-store.ts";
import type { UpgradeRecord } from "./upgrade-record.ts";

/** Hash of the desired state, and release of the node, when a hold was set. */
export type HeldState = Readonly<{ hash: string; release?: string | undefined }>;

/** Hold that keeps the sidecar from acting by itself until the desired state changes or a person runs `gatehouse resume`. */
type Hold = Readonly<{
  /** Desired state that led to the hold; another one lifts it. */
  desired: HeldState;
  message: string;
  sinceMs: number;
  /** Restart that the node has not come back from, which is tried again when the hold is lifted; absent if the node is back. */
  failed?: FailedRestart | undefined;
}>;

/**
 * A failed restart, with the last height that the node had reported and whether it had stopped answering, by which a node that was repaired by hand is
 * recognised.
 */
export type FailedRestart = Readonly<{ reason: string; height?: number | undefined; isDown?: boolean }>;

/** A restart whose end is not yet known. */
export type RestartInFlight = Readonly<{
  reason: string;
  beganMs: number;
  /** Whether the restart command had ended, so that only the proof is missing. */
  phase: "commanded" | "verifying";
  /** Whether it finishes one that an earlier sidecar left half done. */
  isFinishing: boolean;
  /** Instance id of the node before the command; undefined if its driver knows none. Stored under its first name. */
  incarnation?: string | undefined;
  /** Processes of the bin directory that the restart did not start; present once one that it started was seen, so that its end is noticed. */
  bystanders?: readonly number[] | undefined;
  /** Meaning of the configuration that the node is known to have run with before; undefined if that is not known. */
  ran?: string | undefined;
}>;

/** Proof that the node runs well with a content: it `advanced` after a start with it, or that is only `assumed`. */
export type HealthyProof = "advanced" | "assumed";

/** Kept healthy configuration, by its hash. */
type Healthy = Readonly<{ hash: string; proof: HealthyProof; atMs: number }>;

/** A failed restart that is tried again, and why; `isAsked`: a person requested it, whom the budget does not bound. */
type RestartRetry = FailedRestart & Readonly<{ why: string; isAsked?: boolean }>;

/** Grounds on which a sidecar may act on a node: a person ran `gatehouse adopt`, the setting is `enforce`, or an earlier version already acted. */
export type Adoption = Readonly<{ by: "command" | "setting" | "earlier version"; atMs: number }>;

/** Content of node.conf that the audit log accounts for. */
export type AuditedConfig = Readonly<{
  path: string;
  /** Hash of its content when the sidecar last wrote or reported it; absent if it was missing. */
  sha256?: string | undefined;
  /** Hash of the content that the sidecar was about to write; a kill after that, or a failed write, leaves it. */
  writing?: string | undefined;
}>;

/**
 * State that has to survive the sidecar's own restart. Each change is on disk when its call returns, unless `store.failure` says why not; then it
 * is in memory, and is written as soon as it can be.
 */
export type UpkeepState = Disposable &
  Readonly<{
    /** Directory of the state, and of the kept versions of node.conf. */
    directory: string;
    /** Identity of the node that the state belongs to; absent in that of an older version, until it is claimed. */
    identity: Fact<NodeIdentity>;
    /** Values that belong to this node alone, of the configuration that it runs with; another node's copy is never restored over that. */
    nodeValues: Fact<NodeValues>;
    /** Adoption of this node by the sidecar: since when and on what grounds it may act; kept over restarts. */
    adopted: Fact<Adoption>;
    /** Content of node.conf that the audit log accounts for, so that another one is reported as somebody else's. */
    auditedConfig: Fact<AuditedConfig>;
    /** Meaning of the configuration that the node has read (`deriveMeaning`); `unknown` when it may have read another. */
    nodeHas: Fact<string>;
    /**
     * Meaning of the configuration that the running node is known to have started with: the sidecar started it with that one, or the file
     * had not changed since before its start. Absent if that is only assumed.
     */
    startedWith: Fact<string>;
    /** Absent in state of an older version, which kept only proved configurations. */
    healthy: Fact<Healthy>;
    hold: Fact<Hold>;
    restartInFlight: Fact<RestartInFlight>;
    /** Failed restart to try again, because the hold that it led to was lifted. */
    retry: Fact<RestartRetry>;
    /** Restart that a person requested, and when (wall clock). */
    requestedRestart: Fact<Readonly<{ atMs: number }>>;
    /** Upgrade that is under way, or the last one. */
    upgrade: Fact<UpgradeRecord>;
    /** Evidence of whether the node's data are whole. */
    dataEvidence: Fact<DataEvidence>;
    /** Time at which the claim of the node's volume was last enlarged (wall clock). */
    volumeGrownAtMs: Fact<number>;
    /** History of the disk that holds the node's data. */
    diskHistory: Fact<DiskHistory>;
    /** Store for tables with more than one value: events, restarts. */
    store: StateStore;
    /** Makes several changes (facts, events, restarts) one transaction: after a kill all of them are on disk, or none. */
    atomically: (change: () => void) => void;
  }>;

/** One stored value. */
type Fact<T> = Readonly<{ get: () => T | undefined; set: (value: T | undefined) => void }>;

/** File of the state in its directory. */
export const upkeepStateFile = "upkeep.sqlite";

/** File of the lock that a sidecar holds on its state directory. */
export const upkeepLockFile = ".sidecar.lock";

const migrations = [
  `CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
   CREATE TABLE restart (at_ms INTEGER NOT NULL, reason TEXT NOT NULL) STRICT;
   CREATE TABLE event (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL) STRICT`,
  "ALTER TABLE event ADD COLUMN why TEXT",
  "ALTER TABLE restart ADD COLUMN boot_id TEXT; ALTER TABLE restart ADD COLUMN boot_ms INTEGER",
];

/** Opens the state in a directory; creates it if there is none. */
export function openUpkeepState(directory: string): UpkeepState {
  const path = join(directory, upkeepStateFile);
  const database = openSqlite(path, migrations, { setting: "GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY" });
  const store = createStateStore(database, path);
  return {
    directory,
    identity: openFact(store, "identity"),
    nodeValues: openFact(store, "nodeTies"),
    adopted: openFact(store, "adopted"),
    auditedConfig: openFact(store, "auditedConfig"),
    nodeHas: openFact(store, "nodeHas"),
    startedWith: openFact(store, "startedWith"),
    healthy: openFact(store, "healthy"),
    hold: openFact(store, "hold"),
    restartInFlight: openFact(store, "restartInFlight"),
    retry: openFact(store, "retry"),
    requestedRestart: openFact(store, "askedRestart"),
    upgrade: openFact(store, "upgrade"),
    dataEvidence: openFact(store, "dataEvidence"),
    volumeGrownAtMs: openFact(store, "volumeGrownAtMs"),
    diskHistory: openFact(store, "diskHistory"),
    store,
    atomically: store.atomically,
    [Symbol.dispose]: () => {
      // Closing writes the log back into the database, which on a hanging file system takes for ever.
      if (store.failure()?.reason === "Unresponsive") return;
      store.flush();
      database.close();
    },
  };
}

function openFact<T>(store: StateStore, name: string): Fact<T> {
  const { database } = store;
  const write = database.prepare(
    "INSERT INTO fact VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
  );
  const remove = database.prepare("DELETE FROM fact WHERE name = ?");
  const row = database.prepare("SELECT value FROM fact WHERE name = ?").get(name);
  let text = row === undefined ? undefined : String(row["value"]);
  return {
    get: () => (text === undefined ? undefined : (JSON.parse(text) as T)),
    set: (value) => {
      const next = value === undefined ? undefined : JSON.stringify(value);
      text = next;
      store.write(`fact ${name}`, {
        run: () => void (next === undefined ? remove.run(name) : write.run(name, next)),
      });
    },
  };
}
