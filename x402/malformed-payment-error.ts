/** Malformed payment request: an error of its sender, not a verdict about a payment. */
export class MalformedPaymentError extends Error {
  override readonly name = "MalformedPaymentError";
  readonly code = "payment_malformed";
  /** Path in the request, e.g. `paymentPayload.payload.authorization.value`; empty for the whole request. */
  readonly path: string;
  /** Description of the error, without the path. */
  readonly problem: string;

  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`);
    this.path = path;
    this.problem = problem;
  }

  /** Returns the same error relative to an enclosing value that contains the parsed part at `path`. */
  within(path: string): MalformedPaymentError {
    return new MalformedPaymentError(joinPath(path, this.path), this.problem);
  }
}

/** Common interface of the schemas of zod 3 (`@x402/core`) and zod 4 (ours). */
type Schema<Output> = Readonly<{
  safeParse: (
    value: unknown,
  ) =>
    | { success: true; data: Output }
    | { success: false; error: { issues: readonly { path: readonly PropertyKey[]; message: string }[] } };
}>;

/**
 * Parses the part of a payment at `path`.
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field.
 */
export function parsePart<Output>(schema: Schema<Output>, value: unknown, path: string): Output {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new MalformedPaymentError(joinPath(path, ...(issue?.path ?? [])), issue?.message ?? "is wrong");
}

function joinPath(...parts: readonly PropertyKey[]): string {
  return parts.map(String).filter(Boolean).join(".");
}
