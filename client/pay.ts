import { BodyTargetError, openFileTarget, createStdoutTarget } from "./body-target.ts";
import { allowsPayment, findPayOptionProblem, type PayOptions } from "./pay-options.ts";
import { formatPayReport } from "./pay-report.ts";
import type { Fetch } from "./paying-fetch.ts";
import { PaymentFileError } from "./payment-file.ts";
import { listPrices } from "./price-list.ts";
import { judgeFailure, purchase } from "./purchase.ts";
import { TokenAmountError } from "#x402/token-amount.ts";
import { tokenReader } from "./token-reader.ts";

export type { PayOptions } from "./pay-options.ts";

type Output = Readonly<{ write(data: string | Uint8Array): unknown }>;

export type PayDependencies = Readonly<{
  /**
   * Receives only the response body or, with `json`, one document. `finish` resolves once everything is written, with the error if this
   * fails.
   */
  stdout: Output & Readonly<{ finish?(): Promise<Error | undefined> }>;
  /** Receives each step and each failure; default: `stdout`. */
  stderr?: Output;
  fetch?: Fetch;
  /** Masks secrets in text; default: no masking. Resources are written unmasked. */
  mask?: (text: string) => string;
  /** Aborts the run; payments already signed are still reported. */
  signal?: AbortSignal;
}>;

/**
 * Buys one resource and reports each step: the decoded PAYMENT-REQUIRED, the authorization (without the signature), the decoded
 * PAYMENT-RESPONSE. Without a cap and a token, or with `dryRun`, shows the price and signs nothing. Returns the exit status; see
 * `exit-status.ts`.
 */
export async function pay(options: PayOptions, dependencies: PayDependencies): Promise<number> {
  const { stdout, stderr = stdout, fetch = globalThis.fetch, mask = (text) => text, signal } = dependencies;
  const { url, json = false, verbose = false, output, rpcUrl } = options;
  const report = formatPayReport({ url, json, verbose, file: output }, { stdout, stderr, mask });
  const problem = findPayOptionProblem(options);
  if (problem !== undefined) return report.end("usage", problem);
  try {
    // With `json`, the body is part of the document.
    const spare = json ? { write: () => undefined } : stdout;
    await using target = output === undefined ? createStdoutTarget(spare) : await openFileTarget(output, stdout);
    const tokens = rpcUrl === undefined ? undefined : tokenReader({ rpcUrl });
    const parts = { fetch, tokens, report, target, signal };
    const { end, message } = await (allowsPayment(options) ? purchase(options, parts) : listPrices(options, parts));
    const status = report.end(end, message);
    const failure = await stdout.finish?.();
    if (failure === undefined || end !== "delivered") return status;
    const lost = await judgeFailure(`the response can't be written to stdout (${failure.message})`, parts);
    return report.end(lost.end, lost.message);
  } catch (error) {
    if (error instanceof TokenAmountError || error instanceof BodyTargetError || error instanceof PaymentFileError)
      return report.end("usage", error.message);
    throw error;
  }
}
