import { privateKeyToAccount } from "viem/accounts";
import { payingFetch, PaymentRefusedError, type Fetch } from "./paying-fetch.ts";
import { describePaymentEvent } from "./payment-event-text.ts";
import { TokenAmountError } from "./token-amount.ts";

/** What to buy, and within which limits. Amounts are dollars (`"$0.01"`) or the token's smallest units (`"10000"`). */
export type PayOptions = Readonly<{
  url: string;
  /** Default GET. */
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Key of the account that pays: 0x and 64 hexadecimal digits. Never printed. */
  privateKey: string;
  /** Chain in CAIP-2 form, e.g. `eip155:1672`. */
  network: string;
  /** Contracts of the tokens that may be spent on it. */
  assets: readonly string[];
  /** Largest single payment. */
  maxAmount: string;
  /** Largest sum of payments; default: `maxAmount`. */
  maxTotal?: string;
  /** Time limit of one request; default 60000. */
  timeoutMs?: number;
}>;

/** What `pay` prints to and fetches with. */
export type PayDependencies = Readonly<{
  /** Steps and the response's body are written here. */
  stdout: Readonly<{ write(text: string): unknown }>;
  /** What went wrong is written here; default: `stdout`. */
  stderr?: Readonly<{ write(text: string): unknown }>;
  fetch?: Fetch;
}>;

/** Largest response body that is printed. */
const printedCharactersMax = 65_536;

/**
 * Buys one resource and prints each step: the decoded PAYMENT-REQUIRED, what was signed (not the signature), the decoded
 * PAYMENT-RESPONSE, the body. Returns the exit status: 0 when the resource was delivered, 1 when not, 2 when an option is wrong.
 */
export async function pay(options: PayOptions, dependencies: PayDependencies): Promise<number> {
  const { stdout, stderr = stdout } = dependencies;
  const fail = (status: number, text: string) => {
    stderr.write(`${text}\n`);
    return status;
  };
  const problem = optionProblem(options);
  if (problem !== undefined) return fail(2, `pay: ${problem}`);
  try {
    const fetch = payingFetch(
      {
        account: privateKeyToAccount(options.privateKey as `0x${string}`),
        assets: options.assets.map((address) => ({ network: options.network, address })),
        maxPerPayment: options.maxAmount,
        maxTotal: options.maxTotal ?? options.maxAmount,
        requestTimeoutMs: options.timeoutMs ?? 60_000,
      },
      {
        fetch: dependencies.fetch ?? globalThis.fetch,
        onEvent: (event) => stdout.write(`${describePaymentEvent(event)}\n`),
      },
    );
    const response = await fetch(options.url, {
      method: options.method ?? "GET",
      headers: options.headers ?? {},
      ...(options.body === undefined ? {} : { body: options.body }),
    });
    const text = await response.text();
    stdout.write(`${response.status} ${response.statusText}\n${text.slice(0, printedCharactersMax)}\n`);
    if (response.ok && response.status !== 202) return 0;
    return fail(1, `pay: ${options.url} was not delivered: the server answered ${response.status}.`);
  } catch (error) {
    if (error instanceof TokenAmountError) return fail(2, `pay: ${error.message}`);
    if (error instanceof PaymentRefusedError) return fail(1, `pay: ${error.message}`);
    return fail(1, `pay: ${options.url} can't be bought: ${causes(error)}`);
  }
}

function optionProblem({ url, privateKey, network, assets }: PayOptions): string | undefined {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    return `"${url}" is not an http:// or https:// URL.`;
  if (!/^0x[0-9a-fA-F]{64}$/.test(privateKey)) return "the private key is not 0x and 64 hexadecimal digits.";
  if (!/^eip155:\d+$/.test(network)) return `network "${network}" is not of the form eip155:<chain id>.`;
  const wrong = assets.find((asset) => !/^0x[0-9a-fA-F]{40}$/.test(asset));
  if (wrong !== undefined) return `asset "${wrong}" is not an address: 0x and 40 hexadecimal digits.`;
  if (assets.length === 0) return "no asset is allowed; name the contract of the token that may be spent.";
  return undefined;
}

function causes(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${causes(error.cause)}`;
}
