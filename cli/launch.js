// Started by `gatehouse.js`. Plain JavaScript: a TypeScript file would load Node's type stripper, which retains 25 MiB, before the compile
// cache could make it unnecessary. With the cache, only changed files are stripped and compiled again.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { enableCompileCache, flushCompileCache, getCompileCacheDir } from "node:module";
import { join } from "node:path";
import { isSea } from "node:sea";
import { setFlagsFromString } from "node:v8";
import v8Flags from "../daemon/process/v8-flags.json" with { type: "json" };

const root = join(import.meta.dirname, "..");

/** Cache directory if `NODE_COMPILE_CACHE` is not set. Only users who may change the installed packages may write to it. */
const cacheDirectory = join(root, "node_modules/.cache/gatehouse");

/** Directories that a sidecar loads modules from. */
const sidecarRooms = ["cli", "daemon", "sidecar", "node", "status", "health", "gateway"];

/** Max time that a sidecar's first start waits for the compiler; after that, it starts anyway. */
const compileDeadlineMs = 10_000;

endBeforeServing();

// Sizes Node's thread pool for DNS lookups and file operations before its first thread starts. DNS lookups may use half of the threads, and
// a lookup that no name server answers blocks its thread for ten seconds or more. With the default of four threads, two such lookups would
// stall the lookup of the node's own address.
process.env["UV_THREADPOOL_SIZE"] ??= "16";

const [, , command] = process.argv;
if (["sidecar", "compile-sidecar", "facilitator"].includes(command)) {
  // Saves memory: a sidecar shares memory with a node that needs it, and a facilitator mostly waits for blocks. Both optimize for speed
  // under load. The garbage collector's threads are off: in a container with one CPU they use up its share, and it is throttled.
  for (const flag of [...v8Flags.room, ...v8Flags.singleThreadedGc]) setFlagsFromString(flag);
}
// The single executable is one file, compiled at build time: there is nothing to cache.
const isOneFile = isSea();
if (!isOneFile) enableCompileCache(cacheDirectory);
if (command === "compile-sidecar" && !isOneFile) await loadSidecar();
else {
  if (command === "sidecar" && !isOneFile) await compileOnce();
  await import("./main.ts");
}

/**
 * Exits the process on a stop signal that arrives before the loaded service handles signals. As PID 1 of a container it would otherwise
 * keep running: the kernel drops signals without a handler for PID 1 (pid_namespaces(7)).
 */
function endBeforeServing() {
  for (const name of ["SIGHUP", "SIGINT", "SIGTERM"]) {
    process.on(name, (_, number) => {
      if (process.listenerCount(name) === 1) process.exit(128 + number);
    });
  }
}

/** Loads every sidecar file for `compileOnce`, so that this process writes the compiled code to the cache, and records the files' fingerprint. */
async function loadSidecar() {
  const directory = getCompileCacheDir();
  await import("../sidecar/main.ts");
  await import("../daemon/service.ts");
  // Loaded by a sidecar only when its settings specify a key set or the driver, or when an upgrade is requested.
  await import("../gateway/callers/tokens.ts");
  await import("../sidecar/upkeep/drivers/compose-driver.ts");
  await import("../sidecar/upkeep/drivers/docker-driver.ts");
  await import("../sidecar/upkeep/drivers/kubernetes-driver.ts");
  await import("../sidecar/upkeep/drivers/ops-driver.ts");
  await import("../sidecar/upkeep/drivers/signal-driver.ts");
  await import("../sidecar/upkeep/upgrade/check-upgrade.ts");
  await import("../sidecar/upkeep/upgrade/apply-upgrade.ts");
  // Loaded when an archive is unpacked.
  await import("tar");
  process.once("exit", () => {
    flushCompileCache();
    if (directory !== undefined) writeFileSync(markerIn(directory), fingerprint());
    // SIGKILL instead of a normal exit, at which V8 may hang: the compiler threads wait for a garbage collection, and the exit waits for
    // those threads.
    process.kill(process.pid, "SIGKILL");
  });
  process.argv.splice(2, 1, "--version");
  await import("./main.ts");
}

/**
 * Compiles the sidecar in another process, so that this process doesn't pay the cost; does nothing if exactly these files are already
 * compiled. If the other process can't write the cache or takes too long, the sidecar compiles the files itself. A stop signal during the
 * compilation ends both processes at once.
 */
async function compileOnce() {
  const directory = getCompileCacheDir();
  if (directory === undefined || !isWritable(directory)) return;
  const marker = markerIn(directory);
  if (existsSync(marker) && readFileSync(marker, "utf8") === fingerprint()) return;
  const child = spawn(process.execPath, [import.meta.filename, "compile-sidecar"], {
    stdio: "ignore",
    timeout: compileDeadlineMs,
    // A process that hangs in V8 runs no handler for other signals.
    killSignal: "SIGKILL",
  });
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  await once(child, "exit").catch(() => undefined);
  process.off("exit", end);
}

/**
 * @param {string} directory Cache directory, for this version of Node and this user.
 */
function markerIn(directory) {
  return join(directory, "sidecar");
}

/** @param {string} directory */
function isWritable(directory) {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Changes whenever a sidecar file changes. */
function fingerprint() {
  const files = sidecarRooms.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.[jt]s$/.test(name))
      .map((name) => join(root, room, name)),
  );
  const stats = files.map((file) => statSync(file));
  // npm gives every file in a package the same mtime, so only sizes distinguish versions.
  return `${root} ${files.length} ${stats.reduce((sum, { mtimeMs, size }) => sum + mtimeMs + size, 0)}`;
}
