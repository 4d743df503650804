import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { exitStatus, exitStatusHelp } from "#client/exit-status.ts";
import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { waitUntilPrinted } from "#daemon/process/end-process.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { parseDirectory, parseWholeNumber } from "./option-values.ts";

const keyVariable = "GATEHOUSE_PAY_SIGNER_PRIVATE_KEY";

const collect = (value: string, before: readonly string[]) => [...before, value];

export function createPayCommand({ mask }: Readonly<{ mask: Mask }>) {
  return new Command("pay")
    .summary("Buy an HTTP resource over x402 within a spending cap; show its price without one")
    .description(
      "Requests <url>. If the server returns 402, pays the cheapest offer that cap, tokens and network allow. The resource is written unchanged to stdout, or to the file of -o; each step is reported on stderr. Without --max-amount and --asset the price is shown and nothing is paid.",
    )
    .argument("<url>", "resource to buy")
    .option("--max-amount <amount>", "max payment: whole tokens with a point (0.05), or smallest units (50000)")
    .option("--asset <address>", "token contract allowed for payment; repeat for more", collect, [])
    .option("--network <name>", "chain in CAIP-2 form", "eip155:1672")
    .option("--max-total <amount>", "max total of payments and deposits (default: --max-amount)")
    .option(
      "--channels <directory>",
      "pay through channels, too: deposits up to --max-total, at most 5 payments; remembers them in this directory",
      parseDirectory,
    )
    .option(
      "--payment-file <file>",
      "keep the signed payment in this file until its outcome is known; the same command then resends it instead of paying again",
    )
    .option(
      "--rpc-url <url>",
      "JSON-RPC endpoint of the chain: reads the token's decimals and your balance before paying, and approves Permit2 by a signature if needed",
    )
    .option("--dry-run", "show what would be paid, and pay nothing")
    .option("--json", "write one JSON document to stdout: offers, payment, settlement, response, outcome")
    .option("--verbose", "print the decoded headers of the payment")
    .option("-o, --output <file>", "write the resource to a file instead of stdout")
    .option("--key-file <path>", "file with the payer's private key")
    .option("-X, --method <method>", "HTTP method", "GET")
    .option("-H, --header <name:value>", "request header; repeat for more", collectHeader, {})
    .option("-d, --data <body>", "request body")
    .addOption(new Option("--timeout-ms <ms>", "timeout for one request").argParser(parseMilliseconds).default(60_000))
    .exitOverride((error) => process.exit(error.exitCode === 0 ? exitStatus.delivered : exitStatus.usage))
    .addHelpText(
      "after",
      `\n${exitStatusHelp}\n\nThe key: --key-file, or ${keyVariable}_FILE, or ${keyVariable} in the environment.\n` +
        "The chain's endpoint: --rpc-url, or GATEHOUSE_PAY_CHAIN_RPC_URL.",
    )
    .action(async (url, { header: headers, data, asset, keyFile, ...options }) => {
      mask.hide(url);
      mask.hide(options.rpcUrl);
      const isPurchase = options.dryRun !== true && options.maxAmount !== undefined && asset.length > 0;
      const environment = await readEnvironment(keyFile, { needsKey: isPurchase, mask });
      if (environment === undefined) return;
      const { pay } = await import("#client/pay.ts");
      const stop = listenForStop();
      const status = await pay(
        {
          ...environment,
          ...options,
          ...splitCredentials(url, headers),
          assets: asset,
          ...(data === undefined ? {} : { body: data }),
        },
        { stdout: createBodyOutput(), stderr: process.stderr, mask: mask.text, signal: stop.signal },
      );
      process.exitCode = status === exitStatus["not-delivered"] ? (stop.status() ?? status) : status;
    });
}

/** A reader such as `head` may close the pipe early, which is no failure. */
function createBodyOutput() {
  let failure: Error | undefined;
  const note = (error?: NodeJS.ErrnoException | null) => {
    if (error && error.code !== "EPIPE") failure ??= error;
  };
  return {
    write: (data: string | Uint8Array) => process.stdout.write(data, note),
    async finish() {
      await waitUntilPrinted(process.stdout);
      return failure;
    },
  };
}

/** Handles SIGINT and SIGTERM: the first signal aborts the command, which still reports a payment in flight; the second exits the process. */
function listenForStop() {
  const controller = new AbortController();
  let status: number | undefined;
  for (const [name, number] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    process.once(name, () => {
      status = number;
      controller.abort(new Error(`stopped by ${name}`));
    });
  }
  return { signal: controller.signal, status: () => status };
}

/** Moves credentials from the URL, where `fetch` rejects them, to an Authorization header, unless `headers` already has one. */
function splitCredentials(url: string, headers: Readonly<Record<string, string>>) {
  if (!URL.canParse(url)) return { url, headers };
  const endpoint = parseHttpEndpoint(url);
  const isAuthorized = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  return { url: endpoint.url, headers: isAuthorized ? headers : { ...endpoint.headers, ...headers } };
}

/** Reads the key, if given or needed, and the chain's endpoint. On invalid input, reports it and returns undefined. */
async function readEnvironment(
  keyFile: string | undefined,
  { needsKey, mask }: Readonly<{ needsKey: boolean; mask: Mask }>,
) {
  const { readPayerSettings } = await import("./signing-key.ts");
  try {
    const payer = readPayerSettings(keyFile, { mask });
    if (payer.privateKey !== undefined || !needsKey) return payer;
    return reject(`pay: no private key; specify its file with --key-file or ${keyVariable}_FILE.`);
  } catch (error) {
    if (error instanceof SettingsError) return reject(error.message);
    return reject(`pay: --key-file: ${(error as Error).message}`);
  }
}

function reject(message: string): undefined {
  process.stderr.write(`${message}\n`);
  process.exitCode = exitStatus.usage;
}

function collectHeader(line: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const [name, ...rest] = line.split(":");
  if (name === undefined || name.trim() === "" || rest.length === 0) {
    throw new InvalidArgumentError("Expected a header as name:value.");
  }
  return { ...before, [name.trim()]: rest.join(":").trim() };
}

function parseMilliseconds(value: string): number {
  return parseWholeNumber(value, { what: "milliseconds, a whole number", min: 1, max: 600_000 });
}
