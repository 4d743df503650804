// What `gatehouse.js` starts. Plain JavaScript: a TypeScript file would load Node's type stripper, 25 MiB that stay, before the compile
// cache could spare it. With the cache, only a file that changed is stripped and compiled again.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { enableCompileCache, flushCompileCache, getCompileCacheDir } from "node:module";
import { join } from "node:path";
import { isSea } from "node:sea";
import { setFlagsFromString } from "node:v8";
import v8Flags from "../daemon/process/v8-flags.json" with { type: "json" };

const root = join(import.meta.dirname, "..");

/** Where the cache is unless `NODE_COMPILE_CACHE` names a place: only who may change the installed packages may change it. */
const cacheDirectory = join(root, "node_modules/.cache/gatehouse");

/** The rooms that a sidecar is loaded from. */
const sidecarRooms = ["cli", "daemon", "sidecar", "node", "status", "health", "gateway"];

/** How long a sidecar's first start may wait for the compiler; it starts all the same. */
const compileDeadlineMs = 10_000;

endBeforeServing();

// Node's threads for names and files, before the first of them starts. Names may have half of them, and each that no name server answers for
// keeps one for ten seconds and more: of the usual four, two such names keep the node's own waiting.
process.env["UV_THREADPOOL_SIZE"] ??= "16";

const [, , command] = process.argv;
if (command === "sidecar" || command === "compile-sidecar") {
  // A sidecar lives next to a node that wants the memory. Its gateway turns to speed once it is busy.
  for (const flag of v8Flags.room) setFlagsFromString(flag);
}
// The single executable is one file, compiled at its build: there is nothing to cache.
const isOneFile = isSea();
if (!isOneFile) enableCompileCache(cacheDirectory);
if (command === "compile-sidecar" && !isOneFile) await loadSidecar();
else {
  if (command === "sidecar" && !isOneFile) await compileOnce();
  await import("./main.ts");
}

/**
 * Ends the process when it is told to stop before what it loads listens for that. As the first process of a container it would otherwise
 * run on: the kernel drops a signal that such a process has no handler for (pid_namespaces(7)).
 */
function endBeforeServing() {
  for (const name of ["SIGHUP", "SIGINT", "SIGTERM"]) {
    process.on(name, (_, number) => {
      if (process.listenerCount(name) === 1) process.exit(128 + number);
    });
  }
}

/** What `compileOnce` runs: loads every file of a sidecar, so that this process leaves them compiled when it ends, and notes of which. */
async function loadSidecar() {
  const directory = getCompileCacheDir();
  await import("../sidecar/main.ts");
  await import("../daemon/service.ts");
  // Loaded by a sidecar only when its settings name a key set.
  await import("../gateway/callers/tokens.ts");
  // Loaded when an archive is unpacked.
  await import("tar");
  process.once("exit", () => {
    flushCompileCache();
    if (directory !== undefined) writeFileSync(markerIn(directory), fingerprint());
    // Not by the exit, at which V8 may hang: threads that still compile wait for a collection, and the exit for them.
    process.kill(process.pid, "SIGKILL");
  });
  process.argv.splice(2, 1, "--version");
  await import("./main.ts");
}

/**
 * Compiles a sidecar in another process where that was not done for these very files, so that none of the cost stays in this one. A
 * process that can't write the cache, or takes too long, changes nothing: the sidecar then compiles for itself. A signal meanwhile ends
 * both at once.
 */
async function compileOnce() {
  const directory = getCompileCacheDir();
  if (directory === undefined || !isWritable(directory)) return;
  const marker = markerIn(directory);
  if (existsSync(marker) && readFileSync(marker, "utf8") === fingerprint()) return;
  const child = spawn(process.execPath, [import.meta.filename, "compile-sidecar"], {
    stdio: "ignore",
    timeout: compileDeadlineMs,
    // A process that hangs in V8 runs no handler of another signal.
    killSignal: "SIGKILL",
  });
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  await once(child, "exit").catch(() => undefined);
  process.off("exit", end);
}

/** @param {string} directory Of the cache, for this version of Node and this user. */
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

/** Changes with every change of a sidecar's files. */
function fingerprint() {
  const files = sidecarRooms.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.[jt]s$/.test(name))
      .map((name) => join(root, room, name)),
  );
  const stats = files.map((file) => statSync(file));
  // npm gives every file of a package the same time: there the sizes distinguish one version from the next.
  return `${root} ${files.length} ${stats.reduce((sum, { mtimeMs, size }) => sum + mtimeMs + size, 0)}`;
}
