import { z } from "zod";
import { listOperatedServices, operatorPaths } from "#daemon/stack-services.ts";
import type { EngineClient } from "../preflight/engine-client.ts";
import { runInContainer } from "./engine-exec.ts";

/** A service that runs and is not ready: why, and the command that checks it again. */
export type UnreadyService = Readonly<{ service: string; reason: string; check: string }>;

const readiness = z.object({
  checks: z.record(z.string(), z.object({ ok: z.boolean(), message: z.string() })),
});

/**
 * Lists the services of a stack that are not ready, with their reasons, by running the images' own health check in their containers. A service that can't
 * be queried is left out: whether it lives, the deployment has seen.
 */
export async function listUnreadyServices(engine: EngineClient, prefix: string): Promise<readonly UnreadyService[]> {
  const found = await Promise.all(
    listOperatedServices().map(async ({ name, port }) => {
      const container = `${prefix}-${name}`;
      const command = [
        "node",
        "/app/infra/images/health-check.mjs",
        "http",
        `http://127.0.0.1:${port}${operatorPaths.ready}`,
        "0",
      ];
      const said = await runInContainer(engine, container, command).catch(() => undefined);
      const reason = describeReasons(said ?? "");
      return reason === "" ? [] : [{ service: name, reason, check: `docker exec ${container} ${command.join(" ")}` }];
    }),
  );
  return found.flat();
}

/** Describes what a health check printed: each check that fails, or its whole output where it is not a service's answer. */
function describeReasons(printed: string): string {
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
