/** A request that has not the shape of a payment: no verdict about a payment, but a mistake of whoever sent it. */
export class MalformedPaymentError extends Error {
  override readonly name = "MalformedPaymentError";
  readonly code = "payment_malformed";
  /** Where in the request, e.g. `paymentPayload.payload.authorization.value`; empty for the whole of it. */
  readonly path: string;
  /** What is wrong there. */
  readonly problem: string;

  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`);
    this.path = path;
    this.problem = problem;
  }

  /** The same mistake, where the part that was read stands at `path` of a whole. */
  within(path: string): MalformedPaymentError {
    return new MalformedPaymentError(joinPath(path, this.path), this.problem);
  }
}

/** What the schemas of zod 3 (`@x402/core`) and of zod 4 (ours) have in common. */
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
