import "#daemon/settings/describe-issue.ts";
import { z } from "zod";
import { errorCode, RpcError } from "./rpc-error.ts";

const tracerConfig = z.strictObject({
  /** Leaves the calls within a call out. */
  onlyTopCall: z.boolean().optional(),
  /** Adds the logs of each call. */
  withLog: z.boolean().optional(),
});

/** Geth's trace options; those of the struct logger and of the tracer's running are taken and mean nothing to `callTracer`. */
const options = z.strictObject({
  tracer: z.string().optional(),
  tracerConfig: tracerConfig.optional(),
  timeout: z.string().optional(),
  reexec: z.number().optional(),
  disableStorage: z.boolean().optional(),
  disableStack: z.boolean().optional(),
  enableMemory: z.boolean().optional(),
  enableReturnData: z.boolean().optional(),
  limit: z.number().optional(),
  stateOverrides: z.looseObject({}).optional(),
  blockOverrides: z.looseObject({}).optional(),
});

/** Trace options as a caller gives them. */
export const tracerOptions = z.looseObject({}).optional();

/** What `callTracer` is told. */
export type CallTracerOptions = Readonly<{
  tracer: "callTracer";
  tracerConfig: Readonly<{ onlyTopCall?: boolean | undefined; withLog?: boolean | undefined }>;
  stateOverrides?: Readonly<Record<string, unknown>> | undefined;
  blockOverrides?: Readonly<Record<string, unknown>> | undefined;
}>;

/**
 * Reads trace options. Without a tracer `callTracer` is meant, the only one that the node has (specification, "Debug and trace
 * methods").
 *
 * @throws {RpcError} -32602 for any other tracer, and for options that `callTracer` does not have.
 */
export function readTracerOptions(given: unknown): CallTracerOptions {
  const tracer = (given as { tracer?: unknown } | undefined)?.tracer ?? "callTracer";
  if (tracer !== "callTracer") {
    const message = `tracer ${JSON.stringify(tracer)} is not supported: only callTracer is supported`;
    throw new RpcError(errorCode.invalidParams, message);
  }
  const parsed = options.safeParse(given ?? {});
  if (!parsed.success) throw new RpcError(errorCode.invalidParams, `invalid tracer options: ${describe(parsed.error)}`);
  const { tracerConfig: config = {}, stateOverrides, blockOverrides } = parsed.data;
  return {
    tracer,
    tracerConfig: config,
    ...(stateOverrides === undefined ? {} : { stateOverrides }),
    ...(blockOverrides === undefined ? {} : { blockOverrides }),
  };
}

function describe(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => [...path, message].join(": ")).join("; ");
}
