import { createLog } from "#daemon/log/log.ts";
import { endProcess } from "#daemon/process/end-process.ts";

/**
 * Logs lines of a kilobyte, as many as its argument says, without waiting for a reader, and says on standard error how much memory that left it
 * with. On SIGUSR2 it logs a line; on SIGTERM it logs one line more and ends with status 3.
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
