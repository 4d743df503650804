import { readFileSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { z } from "zod";
import { secret } from "#daemon/secret.ts";
import { privateKey } from "#daemon/setting-types.ts";
import { defineSettings, readSettings, section } from "#daemon/settings.ts";
import { SettingsError } from "#daemon/settings-problem.ts";

/** The one setting of `gatehouse pay`: its key never stands on the command line, where every process can read it. */
const paySettings = defineSettings("pay", {
  signer: section({ privateKey: secret(privateKey).describe("Key of the account that pays") }),
});

const collect = (value: string, before: readonly string[]) => [...before, value];

/** Makes `gatehouse pay <url>`. */
export function payCommand() {
  return new Command("pay")
    .summary("Buy one HTTP resource by x402, within a spending cap")
    .description(
      "Requests <url>; when the server answers 402, pays by the cheapest offer that the caps, assets and networks allow, and prints each step: the decoded PAYMENT-REQUIRED, what was signed, the decoded PAYMENT-RESPONSE, the resource. Exits 0 when the resource was delivered, 1 when not, 2 when an option is wrong.",
    )
    .argument("<url>", "resource to buy")
    .requiredOption("--max-amount <amount>", 'largest single payment: dollars ("$0.05") or smallest units ("50000")')
    .option("--asset <address>", "token contract that may be spent; repeat for more", collect, [])
    .option("--network <name>", "chain in CAIP-2 form", "eip155:1672")
    .option("--max-total <amount>", "largest sum of payments (default: --max-amount)")
    .option("--key-file <path>", "file that holds the payer's private key")
    .option("-X, --method <method>", "HTTP method", "GET")
    .option("-H, --header <name:value>", "request header; repeat for more", header, {})
    .option("-d, --data <body>", "request body")
    .addOption(
      new Option("--timeout-ms <ms>", "time limit of one request").argParser(wholeMilliseconds).default(60_000),
    )
    .addHelpText(
      "after",
      "\nThe key: --key-file, or GATEHOUSE_PAY_SIGNER_PRIVATE_KEY_FILE, or GATEHOUSE_PAY_SIGNER_PRIVATE_KEY in the environment.",
    )
    .action(async (url, options) => {
      const key = readKey(options.keyFile);
      if (key === undefined) return;
      const { pay } = await import("#client/pay.ts");
      process.exitCode = await pay(
        {
          url,
          method: options.method,
          headers: options.header,
          ...(options.data === undefined ? {} : { body: options.data }),
          privateKey: key,
          network: options.network,
          assets: options.asset,
          maxAmount: options.maxAmount,
          ...(options.maxTotal === undefined ? {} : { maxTotal: options.maxTotal }),
          timeoutMs: options.timeoutMs,
        },
        { stdout: process.stdout, stderr: process.stderr },
      );
    });
}

function readKey(keyFile: string | undefined): string | undefined {
  try {
    if (keyFile !== undefined) return readFileSync(keyFile, "utf8").trim();
    return readSettings(paySettings, { env: process.env }).signer.privateKey.reveal();
  } catch (error) {
    const message = error instanceof SettingsError ? error.message : `pay: --key-file: ${(error as Error).message}`;
    process.stderr.write(`${message}\n`);
    process.exitCode = 2;
    return undefined;
  }
}

function header(line: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const [name, ...rest] = line.split(":");
  if (name === undefined || name.trim() === "" || rest.length === 0) {
    throw new InvalidArgumentError("Expected a header as name:value.");
  }
  return { ...before, [name.trim()]: rest.join(":").trim() };
}

function wholeMilliseconds(value: string): number {
  const parsed = z.coerce.number().int().min(1).max(600_000).safeParse(value);
  if (!parsed.success) throw new InvalidArgumentError("Expected milliseconds, a whole number from 1 to 600000.");
  return parsed.data;
}
