import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { StartupError } from "#daemon/process/startup-error.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import type { openLedgerAccess } from "#facilitator/commands/open-ledger-access.ts";
import { createTerminalOutput, findConfirmation } from "../terminal.ts";

const settingsOption = [
  "--settings <file>",
  "JSON5 file with the facilitator's settings; environment variables override it",
] as const;

/** Creates `gatehouse ledger`; its `export` writes the facilitator's settlements as CSV, its `refund` sends one back. */
export function createLedgerCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("ledger")
    .summary("Export the facilitator's ledger, or refund a payment")
    .addCommand(createExportCommand(mask))
    .addCommand(createRefundCommand(mask));
}

function createExportCommand(mask: Mask) {
  return new Command("export")
    .summary("Write the facilitator's settlements as CSV, each compared with the chain")
    .description(
      "Reads the ledger from the facilitator's settings, and each settlement's receipt from its network's node: charged amount, transaction, gas cost, and refund. Exits 1 when a settlement does not reconcile with the chain. A SQLite ledger is locked while its facilitator runs, except with --hot-restart.",
    )
    .option(...settingsOption)
    .addOption(
      new Option("--from <time>", "only settlements completed from this time on, such as 2026-11-01 (UTC)").argParser(
        parseTime,
      ),
    )
    .addOption(new Option("--to <time>", "only settlements completed before this time").argParser(parseTime))
    .option("--seller <name>", "only settlements of this one of `sellers`")
    .option("--claims <path|url>", "the resource server's ledger; adds the state of each claim, such as delivered")
    .action(async ({ settings: file, from = 0, to = Number.MAX_SAFE_INTEGER, seller, claims }, command) => {
      if (from >= to) command.error("ledger export: --from must be before --to");
      mask.hide(claims);
      process.exitCode = await runOnLedger("ledger export", file, mask, async (books, resources) => {
        const { exportLedger } = await import("#facilitator/commands/export-ledger.ts");
        const { openClaimLookup } = await import("#resource-server/claims/open-claim-ledger.ts");
        const states = claims ? resources.use(await openClaimLookup(claims)) : undefined;
        const range = { fromMs: from, toMs: to, seller };
        const unreconciledCount = await exportLedger(range, { ...books, write, findClaim: states?.find });
        if (unreconciledCount === 0) return 0;
        const where = 'columns chain and refund_chain have "differs" or "not found"';
        process.stderr.write(
          `ledger export: ${unreconciledCount} settlements do not reconcile with the chain; ${where}.\n`,
        );
        return 1;
      });
    });
}

const keyVariable = "GATEHOUSE_REFUND_SIGNER_PRIVATE_KEY";

function createRefundCommand(mask: Mask) {
  return new Command("refund")
    .summary("Send a settled payment back to its payer, once")
    .description(
      "Refunds a payment in the facilitator's ledger from the payee's account, in full or in part, with a token transfer. The signed transaction is recorded in the ledger before it is sent: only one refund is made, even if the command is killed or run again; rerun it until it reports refunded. A SQLite ledger is locked while its facilitator runs, except with --hot-restart.",
    )
    .argument("<payment>", "payment ID, as in the column payment of gatehouse ledger export, or its settlement")
    .option(...settingsOption)
    .addOption(
      new Option("--amount <amount>", "part to refund, in the token's smallest unit (default: all)").argParser(
        parseAmount,
      ),
    )
    .option("--key-file <path>", "file with the payee's private key")
    .option("--yes", "don't ask for confirmation", false)
    .option(
      "--again",
      "sign another transaction to replace a recorded one that no node has and whose nonce is used",
      false,
    )
    .addHelpText("after", `\nThe key: --key-file, or ${keyVariable}_FILE, or ${keyVariable} in the environment.`)
    .action(async (payment, { settings: file, amount, keyFile, yes, again }) => {
      process.exitCode = await runOnLedger("refund", file, mask, async (books) => {
        const { readPayeeKey } = await import("./signing-key.ts");
        const key = readPayeeKey(keyFile, keyVariable);
        mask.hide(key);
        const { refundPayment } = await import("#facilitator/commands/refund.ts");
        const { createStopSignal } = await import("#daemon/process/stop-signal.ts");
        const { systemClock } = await import("#daemon/clock.ts");
        const { pause } = await import("#daemon/time.ts");
        const confirm = yes ? async () => true : confirmOnTerminal;
        const parts = { output: createTerminalOutput({ mask }), confirm, pause, signal: createStopSignal() };
        const { monotonicMs } = systemClock;
        await refundPayment({ payment, amount, key, again }, { ...books, ...parts, clock: Date.now, monotonicMs });
        return 0;
      });
    });
}

async function confirmOnTerminal(): Promise<boolean> {
  return (await findConfirmation()?.("Send it? [y/N] ")) === true;
}

type LedgerAccess = Awaited<ReturnType<typeof openLedgerAccess>>;

/** Prints one line and returns 1 for a failure that the operator can remedy (settings, ledger, node). */
async function runOnLedger(
  name: string,
  file: string | undefined,
  mask: Mask,
  run: (books: LedgerAccess, resources: AsyncDisposableStack) => Promise<number>,
): Promise<number> {
  try {
    await using resources = new AsyncDisposableStack();
    const { ledgerAccessSettings, openLedgerAccess: open } =
      await import("#facilitator/commands/open-ledger-access.ts");
    const { readSettings } = await import("#daemon/settings/settings.ts");
    const settings = readSettings(ledgerAccessSettings, { env: process.env, file });
    mask.hide(settings);
    return await run(resources.use(await open(settings)), resources);
  } catch (error) {
    const isExpected = error instanceof SettingsError || error instanceof StartupError;
    if (!isExpected && !(error instanceof Error && "code" in error)) throw error;
    process.stderr.write(`${error instanceof SettingsError ? "" : `${name}: `}${mask.text(error.message)}\n`);
    return 1;
  }
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

function parseAmount(text: string): bigint {
  if (/^[1-9]\d{0,77}$/.test(text)) return BigInt(text);
  throw new InvalidArgumentError("Expected a whole number of the token's smallest unit, such as 50000.");
}
