#!/usr/bin/env -S MALLOC_TRIM_THRESHOLD_=131072 node
// What `gatehouse` starts with. Plain JavaScript: a TypeScript file would load Node's type stripper, 25 MiB that stay, before the compile
// cache could spare it. With the cache, only a file that changed is stripped and compiled again. The variable above makes the C library
// give freed memory back.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { enableCompileCache, getCompileCacheDir } from "node:module";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";

const root = join(import.meta.dirname, "..");

/** Where the cache is unless `NODE_COMPILE_CACHE` names a place: only who may change the installed packages may change it. */
const cacheDirectory = join(root, "node_modules/.cache/gatehouse");

/** The rooms that a sidecar is loaded from. */
const sidecarRooms = ["cli", "daemon", "sidecar"];

/** How long a sidecar's first start may wait for the compiler; it starts all the same. */
const compileDeadlineMs = 10_000;

const [, , command] = process.argv;
if (command === "sidecar" || command === "compile-sidecar") {
  // Room before speed: a sidecar lives beside a node that wants the memory. V8 would let its young generation grow to 64 MiB.
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--optimize-for-size");
}
enableCompileCache(cacheDirectory);
if (command === "compile-sidecar") await loadSidecar();
else {
  if (command === "sidecar") compileOnce();
  await import("./gatehouse.ts");
}

/** What `compileOnce` runs: loads every file of a sidecar, so that this process leaves them compiled when it ends. */
async function loadSidecar() {
  await import("../sidecar/main.ts");
  process.argv.splice(2, 1, "--version");
  await import("./gatehouse.ts");
}

/** Compiles a sidecar in another process where that was not done for these very files, so that none of the cost stays in this one. */
function compileOnce() {
  const directory = getCompileCacheDir();
  if (directory === undefined) return;
  const marker = join(directory, "sidecar");
  const wanted = fingerprint();
  if (existsSync(marker) && readFileSync(marker, "utf8") === wanted) return;
  const { status } = spawnSync(process.execPath, [import.meta.filename, "compile-sidecar"], {
    stdio: "ignore",
    timeout: compileDeadlineMs,
  });
  if (status === 0) writeFileSync(marker, wanted);
}

/** Changes with every change of a sidecar's files. */
function fingerprint() {
  const files = sidecarRooms.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(root, room, name)),
  );
  return `${root} ${files.length} ${files.reduce((sum, file) => sum + statSync(file).mtimeMs, 0)}`;
}
