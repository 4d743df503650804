import { z } from "zod";
import type { EngineCall } from "./engine-call.ts";

/** An answer as a caller sees it. */
export type ShownAnswer = Readonly<Record<string, unknown>>;

/** Most characters of the engine's own error text that a caller is shown. */
const messageMax = 500;

const failure = z.object({ message: z.string().transform((text) => text.slice(0, messageMax)) });

/** What is shown of each answer that is JSON: what the sidecar needs, never the container's environment, mounts or labels. */
const shown: Readonly<Partial<Record<EngineCall["kind"], z.ZodType<ShownAnswer>>>> = {
  inspect: z.object({ State: z.object({ Status: z.string(), Running: z.boolean(), StartedAt: z.string() }) }),
  "exec-create": z.object({ Id: z.string().regex(/^[0-9a-f]{12,64}$/) }),
  "exec-inspect": z.object({ Running: z.boolean(), ExitCode: z.number().nullable(), Pid: z.number().optional() }),
};

/**
 * Cuts an answer of the engine to what a caller may see (Engine API: ContainerInspect, ContainerExec, ExecInspect; ErrorResponse from
 * status 400 on). Returns undefined for an answer of another shape, which is shown to nobody.
 */
export function showAnswer(kind: EngineCall["kind"], status: number, text: string): ShownAnswer | undefined {
  const schema = status < 400 ? shown[kind] : failure;
  return schema?.safeParse(fromJson(text)).data;
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Not JSON: no schema takes `undefined`.
    return undefined;
  }
}
