import { createLog } from "#daemon/log/log.ts";
import { endProcess } from "#daemon/process/end-process.ts";

/**
 * Logs this many (its argument) lines of a kilobyte, without waiting for a reader, and reports on standard error how much memory it uses
 * afterwards. On SIGUSR2 it logs a line; on SIGTERM it logs one more line and exits with status 3.
 */
const log = createLog({ service: "talking", level: "info" });
const lines = Number(process.argv[2]);
for (let line = 0; line < lines; line += 1) log.info({ line }, "x".repeat(1_000));
const idle = setInterval(() => undefined, 1_000);
process.on("SIGUSR2", () => log.info("still here"));
process.once("SIGTERM", () => {
  clearInterval(idle);
  log.info("the last line");
  void endProcess(3);
});
process.stderr.write(`${JSON.stringify({ residentBytes: process.memoryUsage.rss() })}\n`);
