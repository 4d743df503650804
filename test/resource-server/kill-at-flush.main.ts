import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/**
 * Loaded into a service before its own program. After SIGUSR2, kills the process with SIGKILL right before a flush of its ledger, whose
 * number is in the environment.
 */
const killAt = Number(process.env["TEST_KILL_AT_FLUSH"]);
let flushes = Number.NEGATIVE_INFINITY;
process.on("SIGUSR2", () => {
  flushes = 0;
});
const flush = fs.fdatasync;
const flushOrEnd: typeof flush = Object.assign(
  (...args: Parameters<typeof flush>) => {
    flushes += 1;
    if (flushes === killAt) process.kill(process.pid, "SIGKILL");
    else flush(...args);
  },
  { __promisify__: flush.__promisify__ },
);
Object.assign(fs, { fdatasync: flushOrEnd });
syncBuiltinESMExports();
