import { join } from "node:path";
import { openSqlite } from "#daemon/sql/sqlite.ts";
import type { DiskHistory } from "#health/disk-forecast.ts";
import type { NodeValues } from "#node/conf/node-values.ts";
import type { DataEvidence } from "./data-evidence.ts";
import type { NodeIdentity } from "./node-identity.ts";
import { createStateStore, type StateStore } from "./state-store.ts";
import type { UpgradeRecord } from "./upgrade-record.ts";

/** Hash of the desired state, and the node's release, at the time when a pause was set. */
export type PauseBasis = Readonly<{ hash: string; release?: string | undefined }>;

/** A pause, which prevents the sidecar from acting on its own until the desired state changes or the operator runs `gatehouse resume`. */
type Hold = Readonly<{
  desired: PauseBasis;
  message: string;
  sinceMs: number;
  /** The failed restart, which is retried when the pause is lifted; absent if the node has recovered. */
  failed?: FailedRestart | undefined;
}>;

/**
 * A failed restart, with the node's last reported height and whether it had stopped responding, by which a manually repaired node is
 * recognized.
 */
export type FailedRestart = Readonly<{ reason: string; height?: number | undefined; isDown?: boolean }>;

export type RestartInFlight = Readonly<{
  reason: string;
  beganMs: number;
  phase: "commanded" | "verifying";
  isFinishing: boolean;
  /** The node's instance id before the command; undefined if its driver has none. Stored under its original name. */
  incarnation?: string | undefined;
  /**
   * Processes from the bin directory that the restart didn't start. Recorded once a process that it did start was seen, to notice that
   * process's exit.
   */
  bystanders?: readonly number[] | undefined;
  /** Fingerprint of the configuration with which the node is known to have run before; undefined if unknown. */
  ran?: string | undefined;
}>;

/** Evidence that a content works: the node `advanced` after starting with it, or this is only `assumed`. */
export type HealthEvidence = "advanced" | "assumed";

type Healthy = Readonly<{ hash: string; proof: HealthEvidence; atMs: number }>;

/** A failed restart to retry, and the reason. `isRequested`: the operator requested the retry, so the budget doesn't limit it. */
type RestartRetry = FailedRestart & Readonly<{ why: string; isRequested?: boolean }>;

/** Approval to act: by `gatehouse adopt`, on the status page, by the mode `enforce`, or (before 0.1.0) because an earlier version had acted on the node. */
export type Adoption = Readonly<{ by: "command" | "page" | "setting" | "earlier version"; atMs: number }>;

export type AuditedConfig = Readonly<{
  path: string;
  /** Hash of the content when the sidecar last wrote or reported it; absent if the file was missing. */
  sha256?: string | undefined;
  /** Hash of the content that the sidecar was about to write; remains after a kill or a failed write. */
  writing?: string | undefined;
}>;

export type UpkeepState = ReturnType<typeof openUpkeepState>;

type Fact<T> = Readonly<{ get: () => T | undefined; set: (value: T | undefined) => void }>;

export const upkeepStateFile = "upkeep.sqlite";

export const upkeepLockFile = ".sidecar.lock";

const migrations = [
  `CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
   CREATE TABLE restart (at_ms INTEGER NOT NULL, reason TEXT NOT NULL) STRICT;
   CREATE TABLE event (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL) STRICT`,
  "ALTER TABLE event ADD COLUMN why TEXT",
  "ALTER TABLE restart ADD COLUMN boot_id TEXT; ALTER TABLE restart ADD COLUMN boot_ms INTEGER",
  // Removes upgrades that were copying the data of a running node, before stopping it.
  "DELETE FROM fact WHERE name = 'upgrade' AND value ->> 'stage' IN ('pre-copying', 'giving-up')",
  // Converts upgrades with separate stages for programs and node.conf, and with a record of whether the new version had run.
  `UPDATE fact SET value = json_set(value, '$.stage', CASE
       WHEN value ->> 'stage' = 'migrating' THEN 'installing'
       WHEN value ->> 'stage' IN ('back-programs', 'back-config') THEN 'back-installing'
       WHEN value ->> 'stage' = 'back-proving' AND NOT value ->> 'newRan' THEN 'back-restarting'
       ELSE value ->> 'stage' END)
     WHERE name = 'upgrade';
   UPDATE fact SET value = json_set(value, '$.failedStage', iif(value ->> 'newRan', 'proving', 'copying'))
     WHERE name = 'upgrade' AND value ->> 'failure' IS NOT NULL`,
];

/** Each change is on disk when its call returns, unless `store.failure` reports a reason: then it is in memory, and written as soon as possible. */
export function openUpkeepState(directory: string) {
  const path = join(directory, upkeepStateFile);
  const database = openSqlite(path, migrations, { setting: "GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY" });
  const store = createStateStore(database, path);
  return {
    directory,
    /** Identity of the node to which the state belongs; absent in state from an older version until the state is claimed. */
    identity: openFact<NodeIdentity>(store, "identity"),
    /** Values unique to this node, from its running configuration; another node's copy is never restored over them. */
    nodeValues: openFact<NodeValues>(store, "nodeTies"),
    /** The sidecar's adoption of this node: since when and on what basis it may act. Persists across restarts. */
    adopted: openFact<Adoption>(store, "adopted"),
    /** Last audited content of node.conf; different content is reported as an external change. */
    auditedConfig: openFact<AuditedConfig>(store, "auditedConfig"),
    /** Fingerprint of the configuration that the node has read (`fingerprintConfig`); `unknown` if it may have read a different one. */
    nodeHas: openFact<string>(store, "nodeHas"),
    /** Fingerprint of the configuration that the node is known to have started with; absent if that is only assumed. */
    startedWith: openFact<string>(store, "startedWith"),
    /** Last healthy configuration; absent in state from an older version, which retained only verified ones. */
    healthy: openFact<Healthy>(store, "healthy"),
    hold: openFact<Hold>(store, "hold"),
    restartInFlight: openFact<RestartInFlight>(store, "restartInFlight"),
    retry: openFact<RestartRetry>(store, "retry"),
    /** A restart requested by the operator, and the time of the request (wall clock). */
    requestedRestart: openFact<Readonly<{ atMs: number }>>(store, "askedRestart"),
    upgrade: openFact<UpgradeRecord>(store, "upgrade"),
    dataEvidence: openFact<DataEvidence>(store, "dataEvidence"),
    volumeGrownAtMs: openFact<number>(store, "volumeGrownAtMs"),
    diskHistory: openFact<DiskHistory>(store, "diskHistory"),
    store,
    /** Makes several changes (facts, events, restarts) in one transaction: after a kill all of them are on disk, or none. */
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
