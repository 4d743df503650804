// Started by `gatehouse.js`. Plain JavaScript: a TypeScript file would load Node's type stripper, which retains 25 MiB, before the compile
// cache could make it unnecessary. With the cache, only changed files are stripped and compiled again.
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { isSea } from "node:sea";
import { setFlagsFromString } from "node:v8";
import v8Flags from "../daemon/process/v8-flags.json" with { type: "json" };

const root = join(import.meta.dirname, "..");

/** Cache directory if `NODE_COMPILE_CACHE` is not set. Only users who may change the installed packages may write to it. */
const cacheDirectory = join(root, "node_modules/.cache/gatehouse");

endBeforeServing();

// Sizes Node's thread pool for DNS lookups and file operations before its first thread starts. DNS lookups may use half of the threads, and
// a lookup that no name server answers blocks its thread for ten seconds or more. With the default of four threads, two such lookups would
// stall the lookup of the node's own address.
process.env["UV_THREADPOOL_SIZE"] ??= "16";

const [, , command] = process.argv;
if (command === "sidecar" || command === "facilitator") {
  // Saves memory: a sidecar shares memory with a node that needs it, and a facilitator mostly waits for blocks. Both optimize for speed
  // under load. The garbage collector's threads are off: in a container with one CPU, they use up its quota, and it is throttled.
  for (const flag of [...v8Flags.room, ...v8Flags.singleThreadedGc]) setFlagsFromString(flag);
}
// The single executable is one file, compiled at build time: there is nothing to cache.
if (!isSea()) enableCompileCache(cacheDirectory);
await import("./main.ts");

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
