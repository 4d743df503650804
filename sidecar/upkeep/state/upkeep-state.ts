import { join } from "node:path";
import { openSqlite } from "#daemon/sql/sqlite.ts";
import type { DiskHistory } from "#health/disk-forecast.ts";
import type { NodeValues } from "#node/conf/node-values.ts";
import type { DataEvidence } from "./data-evidence.ts";
import type { NodeIdentity } from "./node-identity.ts";
import { createStateStore, type StateStore } from "./state-store.ts";
import type { UpgradeRecord } from "./upgrade-record.ts";

/** Hash of the desired state, and release of the node, when a pause was set. */
export type HeldState = Readonly<{ hash: string; release?: string | undefined }>;

/** Pause that prevents the sidecar from acting by itself until the desired state changes or the operator runs `gatehouse resume`. */
type Hold = Readonly<{
  /** Desired state that led to the pause; a different one lifts it. */
  desired: HeldState;
  message: string;
  sinceMs: number;
  /** Failed restart, which is retried when the pause is lifted; absent if the node has recovered. */
  failed?: FailedRestart | undefined;
}>;

/** Failed restart, with the node's last reported height and whether it had stopped responding, which identify a manually repaired node. */
export type FailedRestart = Readonly<{ reason: string; height?: number | undefined; isDown?: boolean }>;

/** Restart with a pending outcome. */
export type RestartInFlight = Readonly<{
  reason: string;
  beganMs: number;
  /** Whether the restart command had exited, so that only the verification is missing. */
  phase: "commanded" | "verifying";
  /** Whether it finishes one that an earlier sidecar left incomplete. */
  isFinishing: boolean;
  /** Instance id of the node before the command; undefined if its driver knows none. Stored under its original name. */
  incarnation?: string | undefined;
  /** Processes of the bin directory that the restart didn't start; present once one that it started was seen, so that its exit is detected. */
  bystanders?: readonly number[] | undefined;
  /** Meaning of the configuration that the node is known to have run with before; undefined if unknown. */
  ran?: string | undefined;
}>;

/** Evidence that the node runs well with a content: it `advanced` after a start with it, or that is only `assumed`. */
export type HealthyProof = "advanced" | "assumed";

/** Retained healthy configuration, by its hash. */
type Healthy = Readonly<{ hash: string; proof: HealthyProof; atMs: number }>;

/** Failed restart to retry, and why; `isAsked`: requested by the operator, so that the budget doesn't limit it. */
type RestartRetry = FailedRestart & Readonly<{ why: string; isAsked?: boolean }>;

/** Grounds for a sidecar's authority over a node: the operator ran `gatehouse adopt`, the setting is `enforce`, or an earlier version already acted. */
export type Adoption = Readonly<{ by: "command" | "setting" | "earlier version"; atMs: number }>;

/** Last audited content of node.conf. */
export type AuditedConfig = Readonly<{
  path: string;
  /** Hash of its content when the sidecar last wrote or reported it; absent if the file was missing. */
  sha256?: string | undefined;
  /** Hash of the content that the sidecar was about to write; remains after a kill or a failed write. */
  writing?: string | undefined;
}>;

/**
 * State that must survive the sidecar's own restart. Each change is on disk when its call returns, unless `store.failure` reports why not;
 * then it is in memory, and written as soon as possible.
 */
export type UpkeepState = Disposable &
  Readonly<{
    /** Directory of the state and of node.conf's saved versions. */
    directory: string;
    /** Identity of the node that the state belongs to; absent in an older version's state, until it is claimed. */
    identity: Fact<NodeIdentity>;
    /** Values unique to this node in its running configuration; another node's copy is never restored over them. */
    nodeValues: Fact<NodeValues>;
    /** Adoption of this node by the sidecar: since when and on what grounds it may act; persists across restarts. */
    adopted: Fact<Adoption>;
    /** Last audited content of node.conf, so that a different one is reported as an external change. */
    auditedConfig: Fact<AuditedConfig>;
    /** Meaning of the configuration that the node has read (`deriveMeaning`); `unknown` if it may have read another. */
    nodeHas: Fact<string>;
    /**
     * Meaning of the configuration that the running node is known to have started with: the sidecar started it with that one, or the file
     * hadn't changed since before its start. Absent if only assumed.
     */
    startedWith: Fact<string>;
    /** Absent in an older version's state, which retained only verified configurations. */
    healthy: Fact<Healthy>;
    hold: Fact<Hold>;
    restartInFlight: Fact<RestartInFlight>;
    /** Failed restart to retry, because the pause that it led to was lifted. */
    retry: Fact<RestartRetry>;
    /** Restart requested by the operator, and when (wall clock). */
    requestedRestart: Fact<Readonly<{ atMs: number }>>;
    /** Current or last upgrade. */
    upgrade: Fact<UpgradeRecord>;
    /** Evidence about the integrity of the node's data. */
    dataEvidence: Fact<DataEvidence>;
    /** Time at which the node's volume claim was last enlarged (wall clock). */
    volumeGrownAtMs: Fact<number>;
    /** History of the node's data disk. */
    diskHistory: Fact<DiskHistory>;
    /** Store for tables with multiple values: events, restarts. */
    store: StateStore;
    /** Makes several changes (facts, events, restarts) in one transaction: after a kill all of them are on disk, or none. */
    atomically: (change: () => void) => void;
  }>;

/** Stored value. */
type Fact<T> = Readonly<{ get: () => T | undefined; set: (value: T | undefined) => void }>;

/** File of the state in its directory. */
export const upkeepStateFile = "upkeep.sqlite";

/** Lock file of a sidecar in its state directory. */
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
      // Closing writes the log back into the database, which takes forever on a hung file system.
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
