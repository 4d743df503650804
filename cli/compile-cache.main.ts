import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { serviceNames } from "./service-definitions.ts";
import { shareCompileCache } from "./shared-compile-cache.ts";
import v8Flags from "#daemon/process/v8-flags.json" with { type: "json" };

/**
 * Starts every program once. The sidecar comes last, and runs as another user next to a real node: other services' code would cost it
 * memory.
 */
const program = join(import.meta.dirname, "gatehouse.js");
const healthCheck = join(import.meta.dirname, "../infra/images/health-check.mjs");
const missingPath = "/nowhere/settings.json5";

/** Files that a sidecar loads only when its settings need them, or when its API or an upgrade is requested. */
const loadedLate = [
  "sidecar/sidecar-api.ts",
  "gateway/callers/tokens.ts",
  ...["compose", "docker", "kubernetes", "ops", "signal"].map((name) => `sidecar/upkeep/drivers/${name}-driver.ts`),
  "sidecar/volume/volume-growth.ts",
  "sidecar/upkeep/upgrade/check-upgrade.ts",
  "sidecar/upkeep/upgrade/apply-upgrade.ts",
];

/** Deadline for one load. A service that fails at startup exits within a second or so, but V8 may hang at exit. */
const deadlineMs = 60_000;

function load(command: readonly string[], expected: Readonly<{ status: number; stderrIncludes: string }>): void {
  const limits = { timeout: deadlineMs, killSignal: "SIGKILL" } as const;
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: "utf8", ...limits });
  if (status === expected.status && stderr.includes(expected.stderrIncludes)) return;
  process.stderr.write(`${command.join(" ")} exited with ${status} instead of ${expected.status}:\n${stderr}\n`);
  process.exitCode = 1;
}

const directory = process.env["NODE_COMPILE_CACHE"];
if (directory === undefined) throw new Error("NODE_COMPILE_CACHE is not a directory; set it to the directory to fill");
load([healthCheck], { status: 2, stderrIncludes: "usage" });
const names = serviceNames.filter((service) => service !== "sidecar");
for (const service of [...names, "sidecar"]) {
  load([program, service, "--settings", missingPath], { status: 1, stderrIncludes: missingPath });
}
// Sets the sidecar's flags first: V8 accepts compiled code only if the flags are the same.
const flags = JSON.stringify([...v8Flags.room, ...v8Flags.singleThreadedGc]);
const urls = JSON.stringify(loadedLate.map((path) => new URL(`../${path}`, import.meta.url)));
const loadLate = `${flags}.forEach(v8.setFlagsFromString); Promise.all(${urls}.map((url) => import(url)))`;
load(["--eval", loadLate], { status: 0, stderrIncludes: "" });
shareCompileCache(directory, { user: process.env["NODE_USER"] });
