import type { StackConfig } from "../config/config-schema.ts";
import { createEngineClient } from "../preflight/engine-client.ts";

/** Docker's two builders, by the provider's names. */
export type ImageBuilder = "BuilderV1" | "BuilderBuildKit";

/** What a stack asks an engine for differently by its age. */
export type EngineTraits = Readonly<{
  builder: ImageBuilder;
  /** Whether a health check may have a start interval; the provider refuses to ask an older engine for one. */
  startInterval: boolean;
}>;

/** The oldest minor version of the Engine API 1 that knows a start interval: Docker 25. */
const startIntervalMinor = 44;

/**
 * Asks the engine at `/_ping` (Docker Engine API, "Ping") for the builder that it recommends, unless the configuration names one, and for its
 * API version. Engines before 23 name no builder, and the classic one is their default. An engine that is not on this machine is not
 * asked: BuildKit, and no start interval.
 *
 * @throws {Error} when the engine does not answer.
 */
export async function engineTraits({
  imageBuilder,
  dockerEngine,
}: Pick<StackConfig, "imageBuilder" | "dockerEngine">): Promise<EngineTraits> {
  const ask = dockerEngine.startsWith("unix:") ? createEngineClient(dockerEngine, false) : undefined;
  const headers = (await ask?.("/_ping"))?.headers;
  const recommended = headers === undefined || headers["builder-version"] === "2" ? "buildkit" : "classic";
  const chosen = imageBuilder === "auto" ? recommended : imageBuilder;
  return {
    builder: chosen === "classic" ? "BuilderV1" : "BuilderBuildKit",
    startInterval: Number(String(headers?.["api-version"]).split(".")[1] ?? 0) >= startIntervalMinor,
  };
}
