import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { createRefundCommand } from "./refund-command.ts";
import { reportFailure } from "./report-failure.ts";

/** Creates `gatehouse ledger`; its `export` writes the facilitator's settlements as CSV, its `refund` sends one back. */
export function createLedgerCommand({ mask }: Readonly<{ mask: Mask }>) {
  const exported = new Command("export")
    .summary("Write the facilitator's settlements as CSV, each compared with the chain")
    .description(
      "Reads the ledger from the facilitator's settings, and each settlement's receipt from its network's node: charged amount, transaction, gas cost, and refund. Exits 1 when a settlement does not reconcile with the chain. A SQLite ledger is locked while its facilitator runs, except with --hand-over.",
    )
    .option("--settings <file>", "JSON5 file with the facilitator's settings; environment variables win over it")
    .addOption(
      new Option("--from <time>", "only settlements completed from this time on, such as 2026-11-01 (UTC)").argParser(
        parseTime,
      ),
    )
    .addOption(new Option("--to <time>", "only settlements completed before this time").argParser(parseTime))
    .option("--seller <name>", "only settlements of this one of `sellers`")
    .option("--claims <path|url>", "the resource server's ledger; adds the state of each claim, such as delivered")
    .action(async ({ settings: file, from = 0, to = Number.MAX_SAFE_INTEGER, seller, claims }) => {
      mask.hide(claims);
      // Each write reports its own failure.
      process.stdout.on("error", () => undefined);
      process.exitCode = await reportFailure("ledger export", { mask }, async (resources) => {
        const { ledgerAccessSettings, openLedgerAccess } = await import("#facilitator/commands/open-ledger-access.ts");
        const { exportLedger } = await import("#facilitator/commands/export-ledger.ts");
        const { readSettings } = await import("#daemon/settings/settings.ts");
        const settings = readSettings(ledgerAccessSettings, { env: process.env, file });
        mask.hide(settings);
        const books = resources.use(await openLedgerAccess(settings));
        const states =
          claims &&
          resources.use(await (await import("#resource-server/claims/claim-lookup.ts")).openClaimLookup(claims));
        const findClaim = states ? states.find : undefined;
        const range = { fromMs: from, toMs: to, seller };
        const unreconciled = await exportLedger(range, { ...books, write, findClaim });
        if (unreconciled === 0) return 0;
        const where = 'columns chain and refund_chain have "differs" or "not found"';
        process.stderr.write(`ledger export: ${unreconciled} settlements do not reconcile with the chain; ${where}.\n`);
        return 1;
      });
    });
  return new Command("ledger")
    .summary("Export the facilitator's ledger, or refund a payment")
    .addCommand(exported)
    .addCommand(createRefundCommand({ mask }));
}

/** Writes to standard output. Resolves once the reader has consumed the text; rejects if the reader has closed the pipe. */
function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

function parseTime(text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new InvalidArgumentError("Expected a date or a time, such as 2026-11-01T12:00:00Z.");
  return ms;
}
