import { readFile, writeFile } from "node:fs/promises";
import { withRoomTable } from "./room-table.ts";

const page = new URL("../../docs/architecture.md", import.meta.url);
await writeFile(page, withRoomTable(await readFile(page, "utf8")));
