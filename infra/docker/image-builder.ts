import { request } from "node:http";
import { RunError } from "@pulumi/pulumi";
import type { StackConfig } from "../config-schema.ts";

/** Docker's two builders, by the provider's names. */
export type ImageBuilder = "BuilderV1" | "BuilderBuildKit";

const socketScheme = "unix://";
const pingDeadlineMs = 5_000;

/**
 * The builder that images are built with. `auto` is the one that the engine recommends: it says so at `/_ping` in `Builder-Version`
 * (Docker Engine API, "Ping"), which engines before 23 leave out and whose classic builder is their default. An engine that is not
 * on this machine is taken for a newer one.
 */
export async function imageBuilder({
  imageBuilder: configured,
  dockerEngine,
}: Pick<StackConfig, "imageBuilder" | "dockerEngine">): Promise<ImageBuilder> {
  if (configured !== "auto") return configured === "classic" ? "BuilderV1" : "BuilderBuildKit";
  if (!dockerEngine.startsWith(socketScheme)) return "BuilderBuildKit";
  return (await builderVersion(dockerEngine.slice(socketScheme.length))) === "2" ? "BuilderBuildKit" : "BuilderV1";
}

function builderVersion(socketPath: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(pingDeadlineMs);
    request({ socketPath, path: "/_ping", method: "HEAD", agent: false, signal }, ({ headers }) => {
      const version = headers["builder-version"];
      resolve(Array.isArray(version) ? version[0] : version);
    })
      .once("error", (cause) => {
        reject(
          new RunError(`the Docker engine at ${socketPath} does not answer (${cause.message}); nothing was changed.`),
        );
      })
      .end();
  });
}
