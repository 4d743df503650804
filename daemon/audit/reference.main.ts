import { readFile, writeFile } from "node:fs/promises";
import { withAuditActions } from "./reference.ts";

const logs = new URL("../../docs/logs.md", import.meta.url);
await writeFile(logs, withAuditActions(await readFile(logs, "utf8")));
