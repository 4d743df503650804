import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import type { Mask } from "#daemon/secrets/mask.ts";
import { askToConfirm, createTerminalOutput } from "../terminal.ts";
import { reportFailure } from "./report-failure.ts";

const keyVariable = "GATEHOUSE_REFUND_SIGNER_PRIVATE_KEY";

/** Creates `gatehouse ledger refund <payment>`. */
export function createRefundCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("refund")
    .summary("Send a settled payment back to its payer, once")
    .description(
      "Refunds a payment in the facilitator's ledger from the payee's account, in full or in part, with a token transfer. The signed transaction is recorded in the ledger before it is sent: only one refund is made, even if the command is killed or run again; rerun it until it reports refunded. A SQLite ledger is locked while its facilitator runs, except with --hand-over.",
    )
    .argument("<payment>", "payment ID, as in the column payment of gatehouse ledger export, or its settlement")
    .option("--settings <file>", "JSON5 file with the facilitator's settings; environment variables win over it")
    .addOption(
      new Option("--amount <amount>", "part to refund, in the token's smallest unit (default: all)").argParser(
        parseAmount,
      ),
    )
    .option("--key-file <path>", "file with the payee's private key")
    .option("--yes", "agree without asking for confirmation", false)
    .option(
      "--again",
      "sign another transaction to replace a recorded one that no node has and whose nonce is used",
      false,
    )
    .addHelpText("after", `\nThe key: --key-file, or ${keyVariable}_FILE, or ${keyVariable} in the environment.`)
    .action(async (payment, { settings: file, amount, keyFile, yes, again }) => {
      process.exitCode = await reportFailure("refund", { mask }, async (resources) => {
        const { readPayee } = await import("./signing-key.ts");
        const key = readPayee(keyFile, keyVariable);
        mask.hide(key);
        const { ledgerAccessSettings, openLedgerAccess } = await import("#facilitator/commands/open-ledger-access.ts");
        const { refundPayment } = await import("#facilitator/commands/refund.ts");
        const { readSettings } = await import("#daemon/settings/settings.ts");
        const { createStopSignal } = await import("#daemon/process/stop-signal.ts");
        const { systemClock } = await import("#daemon/clock.ts");
        const { pause } = await import("#daemon/time.ts");
        const settings = readSettings(ledgerAccessSettings, { env: process.env, file });
        mask.hide(settings);
        const books = resources.use(await openLedgerAccess(settings));
        const confirm = yes ? async () => true : confirmOnTerminal;
        const parts = { output: createTerminalOutput({ mask }), confirm, pause, signal: createStopSignal() };
        const { monotonicMs } = systemClock;
        await refundPayment({ payment, amount, key, again }, { ...books, ...parts, clock: Date.now, monotonicMs });
        return 0;
      });
    });
}

async function confirmOnTerminal(): Promise<boolean> {
  return process.stdin.isTTY && (await askToConfirm("Send it? [y/N] "));
}

function parseAmount(text: string): bigint {
  if (/^[1-9]\d{0,77}$/.test(text)) return BigInt(text);
  throw new InvalidArgumentError("Expected a whole number of the token's smallest unit, such as 50000.");
}
