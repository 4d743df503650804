import { join } from "node:path";
import { openSqlite } from "#daemon/sql/sqlite.ts";
import type { DiskHistory } from "#health/disk-forecast.ts";
import type { ConfigTies } from "#node/conf/ties.ts";
import type { DataEvidence, OwnRestore } from "./data-evidence.ts";
import type { NodeIdentity } from "./node-identity.ts";
import { createStateStore, type StateStore } from "./state-store.ts";
import type { ScheduledUpgrade } from "./scheduled-upgrade.ts";
import type { UpgradeRecord } from "./upgrade-record.ts";

/** What was desired, and of which release of the node, when a hold was set. */
export type HeldState = Readonly<{ hash: string; release?: string | undefined }>;

/** Why the sidecar does nothing by itself until a new desired state comes or a person says `gatehouse resume`. */
type Hold = Readonly<{
  /** The desired state that led here; another one lifts the hold. */
  desired: HeldState;
  message: string;
  sinceMs: number;
  /** The restart that the node has not come back from, which is tried again when the hold is lifted; absent where it is back. */
  failed?: FailedRestart | undefined;
}>;

/**
 * A restart that failed, the height that the node had answered last, and whether it gave no answer any more, so that one that was repaired by hand is
 * recognised.
 */
export type FailedRestart = Readonly<{ reason: string; height?: number | undefined; isDown?: boolean }>;

/** A restart that was begun and whose end is not yet known. */
export type RestartInFlight = Readonly<{
  reason: string;
  beganMs: number;
  /** Whether the restart command had ended, so that only the proof is missing. */
  phase: "commanded" | "verifying";
  /** Whether it ends one that an earlier sidecar left half done. */
  isFinishing: boolean;
  /** The instance id of the node before the command; undefined where its driver knows none. Stored under its first name. */
  incarnation?: string | undefined;
  /** Meaning of the configuration that the node is known to have run with before; undefined where it was not. */
  ran?: string | undefined;
}>;

/** How it is known that the node runs well with a content: it advanced after a start with it, or that is only taken to be so. */
export type HealthyProof = "advanced" | "assumed";

/** What the remembered healthy configuration is, by its hash. */
type Healthy = Readonly<{ hash: string; proof: HealthyProof; atMs: number }>;

/** A failed restart that is tried again, and why; `isAsked`: a person said so, whom the budget does not bound. */
type RestartRetry = FailedRestart & Readonly<{ why: string; isAsked?: boolean }>;

/** Why a sidecar may act on a node: a person said `gatehouse adopt`, the setting is `enforce`, or an earlier version acted already. */
export type Adoption = Readonly<{ by: "command" | "setting" | "earlier version"; atMs: number }>;

/** The content of node.conf that the audit log accounts for. */
export type AuditedConfig = Readonly<{
  path: string;
  /** What it held when the sidecar last wrote it, or reported it; absent where it was not there. */
  sha256?: string | undefined;
  /** What the sidecar was about to write; a kill after that, or a write that failed, leaves it. */
  writing?: string | undefined;
}>;

/**
 * What has to survive the sidecar's own restart. Each change is on disk when its call returns, unless `store.failure` says why not; then it
 * is in memory, and is written once that can be done.
 */
export type UpkeepState = Disposable &
  Readonly<{
    /** Where the state is; the kept versions of node.conf stand there too. */
    directory: string;
    /** Whose state it is; absent in that of an older version, until it is claimed. */
    identity: Fact<NodeIdentity>;
    /** What ties the configuration that the node runs with to that node; another node's copy is never restored over it. */
    nodeTies: Fact<ConfigTies>;
    /** That the sidecar may act on this node, since when and by whose word; kept over restarts. */
    adopted: Fact<Adoption>;
    /** Which content of node.conf the audit log accounts for, so that another one is reported as somebody else's. */
    auditedConfig: Fact<AuditedConfig>;
    /** Meaning of the configuration that the node has read (`deriveMeaning`); `unknown` when it may have read another. */
    nodeHas: Fact<string>;
    /**
     * Meaning of the configuration that the running node is known to have started with: it was started with it by the sidecar, or the file
     * had not changed since before its start. Absent where that is only taken to be so.
     */
    startedWith: Fact<string>;
    /** Absent in state of an older version, which remembered only what was proved. */
    healthy: Fact<Healthy>;
    hold: Fact<Hold>;
    restartInFlight: Fact<RestartInFlight>;
    /** A failed restart that is to be tried again, because the hold that it led to was lifted. */
    retry: Fact<RestartRetry>;
    /** That a person wants the node restarted, and since when (wall clock). */
    requestedRestart: Fact<Readonly<{ atMs: number }>>;
    /** The upgrade that is under way, or the last one. */
    upgrade: Fact<UpgradeRecord>;
    /** The upgrade that begins by itself, or that did not when its time came. */
    scheduledUpgrade: Fact<ScheduledUpgrade>;
    /** What is known about whether the node's data are whole. */
    dataEvidence: Fact<DataEvidence>;
    /** The restores that the sidecar began by itself. */
    ownRestores: Fact<readonly OwnRestore[]>;
    /** When the claim of the node's volume was last made to grow (wall clock). */
    volumeGrownAtMs: Fact<number>;
    /** What was seen of the disk that the node's data lie on. */
    diskHistory: Fact<DiskHistory>;
    /** For what keeps more than one value: events, restarts. */
    store: StateStore;
    /** Makes several changes (facts, events, restarts) one: after a kill all of them are on disk, or none. */
    atomically: (change: () => void) => void;
  }>;

/** One remembered value. */
type Fact<T> = Readonly<{ get: () => T | undefined; set: (value: T | undefined) => void }>;

/** The state's file in its directory. */
export const upkeepStateFile = "upkeep.sqlite";

/** The lock that a sidecar holds on its state's directory. */
export const upkeepLockFile = ".sidecar.lock";

const migrations = [
  `CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
   CREATE TABLE restart (at_ms INTEGER NOT NULL, reason TEXT NOT NULL) STRICT;
   CREATE TABLE event (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL) STRICT`,
  "ALTER TABLE event ADD COLUMN why TEXT",
  "ALTER TABLE restart ADD COLUMN boot_id TEXT; ALTER TABLE restart ADD COLUMN boot_ms INTEGER",
];

/** Opens (or makes) the state in a directory. */
export function openUpkeepState(directory: string): UpkeepState {
  const path = join(directory, upkeepStateFile);
  const database = openSqlite(path, migrations, { setting: "GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY" });
  const store = createStateStore(database, path);
  return {
    directory,
    identity: fact(store, "identity"),
    nodeTies: fact(store, "nodeTies"),
    adopted: fact(store, "adopted"),
    auditedConfig: fact(store, "auditedConfig"),
    nodeHas: fact(store, "nodeHas"),
    startedWith: fact(store, "startedWith"),
    healthy: fact(store, "healthy"),
    hold: fact(store, "hold"),
    restartInFlight: fact(store, "restartInFlight"),
    retry: fact(store, "retry"),
    requestedRestart: fact(store, "askedRestart"),
    upgrade: fact(store, "upgrade"),
    scheduledUpgrade: fact(store, "scheduledUpgrade"),
    dataEvidence: fact(store, "dataEvidence"),
    ownRestores: fact(store, "ownRestores"),
    volumeGrownAtMs: fact(store, "volumeGrownAtMs"),
    diskHistory: fact(store, "diskHistory"),
    store,
    atomically: store.atomically,
    [Symbol.dispose]: () => {
      // Closing writes the log back into the database: on a file system that hangs, for ever.
      if (store.failure()?.reason === "Hanging") return;
      store.flush();
      database.close();
    },
  };
}

function fact<T>(store: StateStore, name: string): Fact<T> {
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
