import { z } from "zod";
import { operatorPaths } from "#daemon/http/operator-paths.ts";

/** A deployed service that is not ready, the reason, and the command that checks it again. */
export type UnreadyService = Readonly<{ service: string; reason: string; check: string }>;

const readiness = z.object({
  checks: z.record(z.string(), z.object({ ok: z.boolean(), message: z.string() })),
});

/** Builds the command that checks a service's readiness in the service's own container. The command prints the reasons if the service is not ready. */
export function buildReadyCheck(port: number): readonly string[] {
  return ["node", "/app/infra/images/health-check.mjs", "http", `http://127.0.0.1:${port}${operatorPaths.ready}`, "0"];
}

/** Describes a health check's output: each failed check, or the whole output if it is not a service's response. */
export function describeReasons(printed: string): string {
  const text = printed.replace(/^HTTP \d+: /, "").trim();
  try {
    const { checks } = readiness.parse(JSON.parse(text));
    const failed = Object.entries(checks).filter(([, { ok }]) => !ok);
    return failed.map(([name, { message }]) => `${name}: ${message}`).join("; ");
  } catch {
    // The output is truncated or isn't a service's response, so it is shown unchanged.
    return text.replaceAll(/\s+/g, " ");
  }
}
