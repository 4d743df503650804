import { execFile } from "node:child_process";
import { mkdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { mountSmallDisk, type SmallDisk } from "#sidecar/testing/small-disk.ts";
import { createWriterLock } from "#sidecar/upkeep/config/writer-lock.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { writeOwnedConfig } from "../../support/node/owned-node.ts";
import type { Fault, StruckNode } from "./fault.ts";
import { hangingFaults } from "./hanging-faults.ts";

const run = promisify(execFile);

/** Writes content to node.conf. */
const holds =
  (content: string | Uint8Array) =>
  ({ node }: StruckNode) =>
    writeFile(node.configPath, content);

/** Replaces node.conf with something else. */
const replacedBy =
  (make: (path: string) => Promise<unknown>) =>
  async ({ node }: StruckNode) => {
    await rm(node.configPath);
    await make(node.configPath);
  };

const right = ({ node }: StruckNode) => writeOwnedConfig(node.workspace, "node-7");
const drifted = (struck: StruckNode) => right(struck).replaceAll("storage_cetina", "pamir_cetina");

/** Report of a fault that makes a condition False, but keeps clients served. */
const degraded = (condition: Fault["shown"]["condition"], reads: string): Fault["shown"] => ({
  verdict: "degraded",
  condition,
  readyz: 200,
  reads,
});

/** A fault of node.conf that keeps the last valid one active. */
const unusable = (what: string, reason: string, reads: string, strike: NonNullable<Fault["strike"]>): Fault => ({
  what,
  strike,
  shown: degraded(["ConfigReconciled", reason], reads),
});

const disks = new Map<string, SmallDisk>();

/** node.conf on its own file system, valid at first. */
const onOwnDisk: NonNullable<Fault["settings"]> = async (struck) => {
  const disk = struck.resources.use(await mountSmallDisk(64));
  disks.set(struck.node.workspace, disk);
  const path = join(disk.path, "node.conf");
  await writeFile(path, right(struck));
  return { GATEHOUSE_SIDECAR_NODE_CONFIG_PATH: path };
};

/** Faults of node.conf, of the file systems, and of other writers. */
export const fileFaults: readonly Fault[] = [
  unusable(
    "node.conf is gone",
    "FileMissing",
    "…/node.conf is missing; create it again, or set node.configPath",
    ({ node }) => rm(node.configPath),
  ),
  unusable(
    "node.conf is on a disk that can't read it",
    "Unreadable",
    "…/node.conf can't be read (EIO): its disk or mount is failing (not a permission problem)",
    // The first page of a process is never mapped: a read at its start is an I/O error.
    replacedBy((path) => symlink("/proc/self/mem", path)),
  ),
  unusable(
    "node.conf is empty",
    "Empty",
    "…/node.conf is empty; expected a JSON object with a chain object.",
    holds(""),
  ),
  unusable(
    "node.conf is half written",
    "Truncated",
    "…/node.conf:1:… is incomplete JSON (",
    holds('{ "chain": { "moni'),
  ),
  unusable(
    "node.conf is not text",
    "NotText",
    "…/node.conf is not UTF-8 text; write JSON, or restore",
    holds(Uint8Array.of(0xff, 0xfe, 0)),
  ),
  unusable(
    "node.conf is nested too deeply",
    "TooDeep",
    "…/node.conf:1:101 is nested more than 100 levels deep",
    holds("[".repeat(5_000)),
  ),
  unusable("node.conf holds an array", "NotAnObject", "…/node.conf is an array; expected a JSON object", holds("[]")),
  unusable(
    "node.conf has no chain",
    "NoChain",
    "…/node.conf has no chain; expected chain to be an object",
    holds("{}"),
  ),
  unusable(
    "node.conf is larger than the limit",
    "TooLarge",
    "…/node.conf is larger than the limit of 65536 bytes",
    ({ node }) => truncate(node.configPath, 2_000_000),
  ),
  unusable(
    "node.conf is a directory",
    "NotAFile",
    "…/node.conf can't be read (it is not a regular file); `ls -ld …/node.conf` shows what it is. Move it away, and create node.conf there.",
    replacedBy((path) => mkdir(path)),
  ),
  unusable(
    "node.conf is a named pipe that nobody writes to",
    "NotAFile",
    "…/node.conf can't be read (it is not a regular file); `ls -ld …/node.conf` shows what it is. Move it away, and create node.conf there.",
    replacedBy((path) => run("mkfifo", [path])),
  ),
  unusable(
    "node.conf is a symbolic link to itself",
    "NotAFile",
    "…/node.conf can't be read (ELOOP); `ls -ld …/node.conf` shows what it is. Move it away, and create node.conf there.",
    replacedBy((path) => symlink(path, path)),
  ),
  {
    what: "node.conf has a key twice",
    strike: (struck) =>
      writeFile(
        struck.node.configPath,
        drifted(struck).replace('"pamir_cetina_push_port"', '"pamir_cetina_push_port":1,"pamir_cetina_push_port"'),
      ),
    shown: degraded(
      ["ConfigReconciled", "EditRejected"],
      "node.conf has the key chain.monitor_config.pamir_cetina_push_port twice (line 1, column …); remove one of the two.",
    ),
  },
  {
    what: "node.conf drifts, and has a byte order mark and CRLF line ends: it is corrected, and keeps both",
    // With another job, since a node that has run long enough needs no restart for what it has read.
    strike: (struck) => {
      const text = drifted(struck).replace("node-7", "node-8").replaceAll(",", ",\r\n");
      return writeFile(struck.node.configPath, `\uFEFF${text}`);
    },
    shown: degraded(["NoRestartPending", "NoDriver"], "A restart is pending ("),
  },
  {
    what: "node.conf drifts, and the sidecar only observes",
    settings: () => ({ GATEHOUSE_SIDECAR_UPKEEP_MODE: "observe", GATEHOUSE_SIDECAR_PRUNE_ENABLED: "false" }),
    prepare: (struck) => writeFile(struck.node.configPath, drifted(struck)),
    shown: degraded(
      ["ConfigReconciled", "Drift"],
      "node.conf differs from the desired configuration, and upkeep.mode is observe: ",
    ),
  },
  {
    what: "The disk of node.conf is full",
    mounts: true,
    settings: onOwnDisk,
    strike: async (struck) => {
      const disk = disks.get(struck.node.workspace);
      await disk?.fill();
      await writeFile(join(disk?.path ?? "", "node.conf"), drifted(struck));
    },
    shown: degraded(
      ["ConfigReconciled", "WriteFailed"],
      "…/node.conf can't be written (ENOSPC: the disk is full; free space).",
    ),
  },
  ...hangingFaults,
  {
    what: "The disk of the sidecar's state is full",
    mounts: true,
    settings: async ({ resources, node }) => {
      const disk = resources.use(await mountSmallDisk(2_048));
      disks.set(node.workspace, disk);
      return { GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: disk.path };
    },
    strike: async (struck) => {
      const disk = disks.get(struck.node.workspace);
      await disk?.fill();
      // The database's own files have a little space left: enough changes use it up.
      for (let index = 0; index < 200; index += 1)
        await writeFile(struck.node.configPath, index % 2 === 0 ? "" : right(struck));
      await writeFile(struck.node.configPath, drifted(struck));
    },
    shown: degraded(
      ["Reconciling", "DiskFull"],
      "…/upkeep.sqlite can't be written (database or disk is full); free space on its disk",
    ),
  },
  {
    what: "Another program has locked the sidecar's state",
    strike: async (struck) => {
      const database = new DatabaseSync(join(struck.stateDirectory, "upkeep.sqlite"));
      database.exec("BEGIN IMMEDIATE");
      struck.resources.defer(() => database.close());
      await writeFile(struck.node.configPath, "");
    },
    shown: degraded(
      ["Reconciling", "InUse"],
      "…/upkeep.sqlite can't be written (database is locked); stop the other program that has it open",
    ),
  },
  {
    what: "Another sidecar has taken the right to write node.conf",
    strike: async (struck) => {
      const { configPath } = struck.node;
      await rm(join(dirname(configPath), `.${basename(configPath)}.lock`));
      struck.resources.use(createWriterLock(configPath)).acquire();
      await struck.node.save(drifted(struck));
    },
    shown: degraded(
      ["ConfigReconciled", "Locked"],
      "Another process manages …/node.conf (process … on host …, since …Z, holds …/.node.conf.lock); stop it: only one process may write the file.",
    ),
  },
  {
    what: "Another program writes the same drift again and again",
    strike: async (struck) => {
      for (let index = 0; index < 3; index += 1) {
        await struck.node.save(drifted(struck));
        await corrected(struck);
      }
    },
    shown: degraded(
      ["ConfigReconciled", "Contested"],
      "node.conf was corrected repeatedly for the same change within six hours: another program keeps writing it. Stop that program",
    ),
  },
];

const corrected = ({ node }: StruckNode) => readUntil(node.config, (text) => text.includes("storage_cetina"));
