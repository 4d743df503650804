/** A request that doesn't have the shape of a payment: a mistake of its sender, not a verdict about a payment. */
export class MalformedPaymentError extends Error {
  override readonly name = "MalformedPaymentError";
  readonly code = "payment_malformed";
  /** Path in the request, e.g. `paymentPayload.payload.authorization.value`; empty for the whole request. */
  readonly path: string;
  /** Description of the mistake, without the path. */
  readonly problem: string;

  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`);
    this.path = path;
    this.problem = problem;
  }

  /** Returns the same error for a whole in which the part that was read stands at `path`. */
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
 * Parses a part of a payment that stands at `path`.
 *
 * @throws {MalformedPaymentError} with the path of the first field that is wrong.
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
