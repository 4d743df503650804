import { parseTokenAmount, TokenAmountError } from "#x402/token-amount.ts";

/** A purchase request and its limits. Amounts are in whole tokens (`"0.01"`) or in the token's smallest units (`"10000"`). */
export type PayOptions = Readonly<{
  url: string;
  /** HTTP method; default: GET. */
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Private key of the paying account: 0x and 64 hexadecimal digits. Never printed. Required only for payment. */
  privateKey?: string;
  /** Chain in CAIP-2 form, e.g. `eip155:1672`. */
  network: string;
  /** Contracts of the tokens that may be spent on this chain. If empty, the price is shown and nothing is paid. */
  assets: readonly string[];
  /** JSON-RPC endpoint of the chain, used to read decimals, balance and the outcome of a payment. */
  rpcUrl?: string;
  /** Max amount of a single payment. If unset, the price is shown and nothing is paid. */
  maxAmount?: string;
  /** Max total of all payments; default: `maxAmount`. */
  maxTotal?: string;
  /** Directory that stores the channels; if unset, no channel is opened. */
  channels?: string;
  /** File that keeps the signed payment until its outcome is known; another run resends it instead of signing a new one. */
  paymentFile?: string;
  dryRun?: boolean;
  json?: boolean;
  /** Reports the decoded payment headers instead of one line per step. */
  verbose?: boolean;
  output?: string;
  /** Timeout of one request; default 60000. */
  timeoutMs?: number;
}>;

export type PurchaseOptions = PayOptions & Readonly<{ maxAmount: string; privateKey: string }>;

export function allowsPayment(options: PayOptions): options is PurchaseOptions {
  const { dryRun = false, maxAmount, assets } = options;
  return !dryRun && maxAmount !== undefined && assets.length > 0;
}

export function buildRequest({ method = "GET", headers = {}, body }: PayOptions): RequestInit {
  return { method, headers, ...(body === undefined ? {} : { body }) };
}

export function listAllowedAssets({ network, assets }: PayOptions) {
  return assets.map((address) => ({ network, address }));
}

/** Returns a description of the first invalid option for the user; undefined if all are valid. */
export function findPayOptionProblem(options: PayOptions): string | undefined {
  const { url, privateKey, network, assets, rpcUrl } = options;
  if (!isHttpUrl(url)) return `"${url}" is not an http:// or https:// URL.`;
  if (rpcUrl !== undefined && !isHttpUrl(rpcUrl)) return `--rpc-url "${rpcUrl}" is not an http:// or https:// URL.`;
  if (!/^eip155:\d+$/.test(network)) return `network "${network}" is not of the form eip155:<chain id>.`;
  const wrong = assets.find((asset) => !/^0x[0-9a-fA-F]{40}$/.test(asset));
  if (wrong !== undefined) return `asset "${wrong}" is not an address: 0x and 40 hexadecimal digits.`;
  if (privateKey !== undefined && !/^0x[0-9a-fA-F]{64}$/.test(privateKey)) {
    return "the private key is not 0x and 64 hexadecimal digits.";
  }
  if (options.channels !== undefined && options.paymentFile !== undefined)
    return "--payment-file can't be combined with --channels, whose directory remembers payments itself.";
  if (allowsPayment(options) && privateKey === undefined) return "no private key; specify its file with --key-file.";
  return findAmountProblem(options);
}

function findAmountProblem({ maxAmount, maxTotal, assets, rpcUrl }: PayOptions): string | undefined {
  for (const [option, text] of Object.entries({ "--max-amount": maxAmount, "--max-total": maxTotal })) {
    if (text === undefined) continue;
    try {
      const amount = parseTokenAmount(text);
      if (amount.kind === "units" || rpcUrl !== undefined || assets.length === 0) continue;
      return (
        `${option} ${text} is in whole tokens, but the decimals of ${assets[0] ?? "the token"} are unknown. Pass --rpc-url (the chain's ` +
        "JSON-RPC endpoint) to read them, or the amount in the token's smallest unit."
      );
    } catch (error) {
      if (!(error instanceof TokenAmountError)) throw error;
      return `${option}: ${error.message}`;
    }
  }
  return undefined;
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
