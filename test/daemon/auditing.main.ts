import { openAuditLog } from "#daemon/audit/audit-log.ts";
import { createLog } from "#daemon/log/log.ts";
import { createMask } from "#daemon/secrets/mask.ts";

/** Adds changes to the audit log that its argument names until it is killed, and prints each once it is said to be on the disk. */
const [, , path = ""] = process.argv;
const log = createLog({ service: "auditing", level: "silent" });
const dependencies = { service: "auditing", log, mask: createMask(), clock: Date.now };
const audit = openAuditLog({ path, fileBytes: 4_000, files: 100 }, dependencies);
for (let n = 0; ; n += 1) {
  const message = `change ${n}`;
  await audit.add([{ action: "node-restart", outcome: "success", by: "test", message }]);
  process.stdout.write(`${message}\n`);
}
