import { execFile } from "node:child_process";
import { mkdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { createWriterLock } from "#sidecar/upkeep/config/writer-lock.ts";
import { writeOwnedConfig } from "../../support/node/owned-node.ts";
import type { Fault, FaultyNode } from "./fault.ts";

const run = promisify(execFile);

/** Writes content to node.conf. */
const holds =
  (content: string | Uint8Array) =>
  ({ node }: FaultyNode) =>
    writeFile(node.configPath, content);

/** Replaces node.conf with something else. */
const replacedBy =
  (make: (path: string) => Promise<unknown>) =>
  async ({ node }: FaultyNode) => {
    await rm(node.configPath);
    await make(node.configPath);
  };

const right = ({ node }: FaultyNode) => writeOwnedConfig(node.workspace, "node-7");
const drifted = (struck: FaultyNode) => right(struck).replaceAll("storage_cetina", "pamir_cetina");

/** A fault of node.conf during which the last valid version stays active. */
const unusable = (what: string, reason: string, reads: string, strike: NonNullable<Fault["strike"]>): Fault => ({
  what,
  strike,
  condition: ["ConfigReconciled", reason],
  reads,
});

/** Faults of node.conf, of the file systems, and of other writers. */
export const fileFaults: readonly Fault[] = [
  unusable(
    "node.conf is missing",
    "FileMissing",
    "…/node.conf is missing; create it again, or set node.configPath",
    ({ node }) => rm(node.configPath),
  ),
  unusable(
    "node.conf is on a failing disk",
    "Unreadable",
    "…/node.conf can't be read (EIO): its disk or mount is failing (not a permission problem)",
    // The first page of a process is never mapped, so reading it is an I/O error.
    replacedBy((path) => symlink("/proc/self/mem", path)),
  ),
  unusable(
    "node.conf is empty",
    "Empty",
    "…/node.conf is empty; restore it from a backup, or write a JSON object with a chain object.",
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
    "…/node.conf:1:1 is not UTF-8 text (byte 0xff); convert it (`iconv -f latin1 -t utf8`",
    holds(Uint8Array.of(0xff, 0xfe, 0)),
  ),
  unusable(
    "node.conf is nested too deeply",
    "TooDeep",
    "…/node.conf:1:101 is nested more than 100 levels deep",
    holds("[".repeat(5_000)),
  ),
  unusable("node.conf holds an array", "NotAnObject", "…/node.conf is an array; restore it from a backup", holds("[]")),
  unusable("node.conf has no chain", "NoChain", "…/node.conf has no chain; make chain an object", holds("{}")),
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
    "node.conf is a named pipe without a writer",
    "NotAFile",
    "…/node.conf can't be read (it is not a regular file); `ls -ld …/node.conf` shows what it is. Move it away, and create node.conf there.",
    replacedBy((path) => run("mkfifo", [path])),
  ),
  unusable(
    "node.conf is a symlink to itself",
    "NotAFile",
    "…/node.conf can't be read (ELOOP); `ls -ld …/node.conf` shows what it is. Move it away, and create node.conf there.",
    replacedBy((path) => symlink(path, path)),
  ),
  {
    what: "node.conf drifts while the sidecar only observes",
    settings: () => ({ GATEHOUSE_SIDECAR_UPKEEP_MODE: "observe", GATEHOUSE_SIDECAR_PRUNE_ENABLED: "false" }),
    prepare: (struck) => writeFile(struck.node.configPath, drifted(struck)),
    condition: ["ConfigReconciled", "Drift"],
    reads: "node.conf differs from the desired configuration, and upkeep.mode is observe: ",
  },
  {
    what: "A different sidecar holds the write lock of node.conf",
    strike: async (struck) => {
      const { configPath } = struck.node;
      await rm(join(dirname(configPath), `.${basename(configPath)}.lock`));
      struck.resources.use(createWriterLock(configPath)).acquire();
      await struck.node.save(drifted(struck));
    },
    condition: ["ConfigReconciled", "Locked"],
    reads:
      "Another process manages …/node.conf (process … on host …, since …Z, holds …/.node.conf.lock); stop it: only one process may write the file.",
  },
];
