import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { testClaimLedger } from "../testing/claim-ledger-contract.ts";
import { openTestLedger } from "../testing/claim-store.ts";

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

function ledgerFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "claims-"));
  folders.push(folder);
  return join(folder, "claims.sqlite");
}

describe("claim ledger in SQLite", () => {
  testClaimLedger(async () => {
    const file = ledgerFile();
    return { open: (clock) => openTestLedger(file, clock) };
  });

  it("is opened by one process at a time", async () => {
    const file = ledgerFile();
    await using _first = await openTestLedger(file);
    await expect(openTestLedger(file)).rejects.toThrow(/is in use; stop the other test, or set ledger.path/);
  });
});
