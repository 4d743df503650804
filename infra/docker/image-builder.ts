import type { StackConfig } from "../config/config-schema.ts";
import { engineQuestion } from "../preflight/engine-question.ts";

/** Docker's two builders, by the provider's names. */
export type ImageBuilder = "BuilderV1" | "BuilderBuildKit";

/**
 * The builder that images are built with. `auto` is the one that the engine recommends: it says so at `/_ping` in `Builder-Version`
 * (Docker Engine API, "Ping"), which engines before 23 leave out and whose classic builder is their default. An engine that is not
 * on this machine is taken for a newer one.
 *
 * @throws {Error} when the engine does not answer.
 */
export async function imageBuilder({
  imageBuilder: configured,
  dockerEngine,
}: Pick<StackConfig, "imageBuilder" | "dockerEngine">): Promise<ImageBuilder> {
  if (configured !== "auto") return configured === "classic" ? "BuilderV1" : "BuilderBuildKit";
  const ask = dockerEngine.startsWith("unix:") ? engineQuestion(dockerEngine, false) : undefined;
  if (ask === undefined) return "BuilderBuildKit";
  const { headers } = await ask("/_ping");
  return headers["builder-version"] === "2" ? "BuilderBuildKit" : "BuilderV1";
}
