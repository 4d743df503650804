import { z } from "zod";
import { operatorPaths } from "#daemon/stack-services.ts";

/** A service that is deployed and not ready: why, and the command that checks it again. */
export type UnreadyService = Readonly<{ service: string; reason: string; check: string }>;

const readiness = z.object({
  checks: z.record(z.string(), z.object({ ok: z.boolean(), message: z.string() })),
});

/** Builds the command that checks in a service's own container whether it is ready; it prints why it is not. */
export function buildReadyCheck(port: number): readonly string[] {
  return ["node", "/app/infra/images/health-check.mjs", "http", `http://127.0.0.1:${port}${operatorPaths.ready}`, "0"];
}

/** Describes what a health check printed: each check that fails, or its whole output where it is not a service's answer. */
export function describeReasons(printed: string): string {
  const text = printed.replace(/^HTTP \d+: /, "").trim();
  try {
    const { checks } = readiness.parse(JSON.parse(text));
    const failed = Object.entries(checks).filter(([, { ok }]) => !ok);
    return failed.map(([name, { message }]) => `${name}: ${message}`).join("; ");
  } catch {
    // Cut off, or no service's answer: shown as it is.
    return text.replaceAll(/\s+/g, " ");
  }
}
